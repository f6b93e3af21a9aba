"""The dispatchers under the name that TVM's RFC 4118 gave them: ``relay.vm.log_dispatcher``.

Example
-------
>>> mod.dispatch("main", {"data": (relay.Any(), 3, 224, 224)}, relay.vm.log_dispatcher)  # doctest: +SKIP
>>> mod.dispatch("main", shapes, relay.vm.uniform_dispatcher(step=16, low=1, high=256))  # doctest: +SKIP
"""  # noqa: E501 - as users write it

from tvm_megcc.dispatch.dispatchers import log_dispatcher, uniform_dispatcher

__all__ = ["log_dispatcher", "uniform_dispatcher"]
