"""tvm_megcc inside TVM: parts of a module that our compiler takes, for TVM's virtual machine.

`partition_for_megcc` finds them, TVM's ``RunCodegen`` has them compiled by `codegen`, and
`default` does both in ``tvm.compile(mod, target="tvm_megcc")``.
"""
