"""Every private PyTorch name that constviz relies on, and nothing else.

Read on torch 2.11.0, 2.13.0 and 2.14.1.  ``PRIVATE_NAMES`` lists them for the test that fails first when a release
moves one.  Patches are made only while a capture or a watch is open, and put the very same objects back.

================  ====================================================================
``options``       what a compiled callable was made of
``isolation``     compiling beside the user's own compiled code, and taking it back
``tracing``       watching Dynamo trace: folds, graph breaks, nodes, inlined functions
``entries``       the compiled code that hangs on a function
``calls``         watching compiled functions being called
================  ====================================================================
"""

from __future__ import annotations

from .calls import CompiledCall, Watch, nested_compiles_run_as, watch_calls
from .entries import (
    compiled_code_runs,
    drop_entries,
    entries,
    is_listening,
    listen,
    stop_listening,
    with_resumed,
)  # fmt: skip
from .isolation import (
    compiled_graph_names,
    dynamo_state_kept,
    forget_code,
    generated_kernels,
    has_cache_entries,
    isolated,
    leave_alone,
    release_names,
)
from .options import CompileOptions, compiled_parts, freezes_parameters, options_for, unwrap
from .tracing import (
    MarkedRead,
    Site,
    fx_node,
    guarded_attribute,
    has_own_mark,
    is_alias,
    is_marked,
    is_wrapper,
    observing,
    realized,
)

__all__ = [
    "PRIVATE_NAMES", "CompileOptions", "CompiledCall", "MarkedRead", "Site", "Watch", "compiled_code_runs",
    "compiled_graph_names", "compiled_parts", "drop_entries", "dynamo_state_kept", "entries", "forget_code",
    "freezes_parameters", "fx_node", "generated_kernels", "guarded_attribute", "has_cache_entries", "has_own_mark",
    "is_alias", "is_listening", "is_marked", "is_wrapper", "isolated", "leave_alone", "listen",
    "nested_compiles_run_as", "observing", "options_for", "realized", "release_names", "stop_listening", "unwrap",
    "watch_calls", "with_resumed",
]  # fmt: skip

PRIVATE_NAMES = (
    "torch._dynamo.optimize",
    "torch._dynamo.eval_frame._callback_from_stance",
    "torch._dynamo.callback.callback_handler.register_start_callback",
    "torch._dynamo.callback.callback_handler.remove_start_callback",
    "torch._dynamo.callback.callback_handler.start_callbacks",
    "torch._dynamo.eval_frame._stance.stance",
    "torch._dynamo.eval_frame.OptimizedModule",
    "torch._dynamo.eval_frame.cached_backends",
    "torch._dynamo.eval_frame.innermost_backend",
    "torch._dynamo.exc.Unsupported.__init__",
    "torch._dynamo.external_utils.wrap_inline",
    "torch._dynamo.guards.CheckFunctionManager.build_guards",
    "torch._dynamo.guards.DeletedGuardManagerWrapper",
    "torch._dynamo.guards.make_guard_filter_entry",
    "torch._dynamo.output_graph.OutputGraph.__init__",
    "torch._dynamo.output_graph.SubgraphTracer.create_proxy",
    "torch._dynamo.output_graph.graph_break_reasons",
    "torch._dynamo.pgo._CODE_STATE",
    "torch._dynamo.pgo._INIT_CODE_STATE",
    "torch._dynamo.symbolic_convert.InliningInstructionTranslator.inline_call",
    "torch._dynamo.symbolic_convert.InstructionTranslatorBase.log_graph_break",
    "torch._dynamo.trace_rules.check",
    "torch._dynamo.types.FrameAction.DEFAULT",
    "torch._dynamo.types.FrameAction.SKIP",
    "torch._dynamo.types.FrameExecStrategy",
    "torch._dynamo.utils.CleanupManager.instance.values",
    "torch._dynamo.utils.counters",
    "torch._dynamo.variables.base.VariableTracker.build",
    "torch._dynamo.variables.builtin.BuiltinVariable.call_function",
    "torch._dynamo.variables.constant.ConstantVariable.as_proxy",
    "torch._dynamo.variables.functions.UserFunctionVariable.__init__",
    "torch._dynamo.variables.functions.invoke_and_store_as_constant",
    "torch._dynamo.variables.nn_module.invoke_and_store_as_constant",
    "torch._inductor.config.freezing",
    "torch._inductor.metrics.generated_kernel_count",
    "torch._C._is_alias_of",
    "torch._C._dynamo.eval_frame._debug_get_cache_entry_list",
    "torch._C._dynamo.eval_frame.reset_code",
    "torch._C._dynamo.eval_frame.set_code_exec_strategy",
)
