"""Named prompts: calls that refer to earlier ones, and are recorded."""

from typing import TYPE_CHECKING

from ffai._lazy import lazy_exports

if TYPE_CHECKING:
    from ffai.workflow.engine import WorkflowEngine
    from ffai.workflow.options import ResponseOptions
    from ffai.workflow.result import ResponseResult

__all__ = ["ResponseOptions", "ResponseResult", "WorkflowEngine"]

__getattr__ = lazy_exports(
    __name__,
    {
        "ResponseOptions": "ffai.workflow.options",
        "ResponseResult": "ffai.workflow.result",
        "WorkflowEngine": "ffai.workflow.engine",
    },
)
