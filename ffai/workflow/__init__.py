"""Named prompts: calls that refer to earlier ones, and are recorded."""

from ffai._lazy import lazy_exports

__all__ = ["ResponseOptions", "ResponseResult", "WorkflowEngine"]

__getattr__ = lazy_exports(
    __name__,
    {
        "ResponseOptions": "ffai.workflow.options",
        "ResponseResult": "ffai.workflow.result",
        "WorkflowEngine": "ffai.workflow.engine",
    },
)
