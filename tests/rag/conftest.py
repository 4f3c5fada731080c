"""How hard the laws are tried: the same examples in every run, and no limit of time for one on a busy machine."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "rag", derandomize=True, deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("rag")
