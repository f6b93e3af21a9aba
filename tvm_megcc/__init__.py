"""tvm_megcc: a TVM plugin that emits C packages."""
