"""CPUs by the words that people use for them: boards, microcontrollers, other spellings.

Enters: what a person types for ``--mcpu``. Leaves: the CPU's name as compilers spell it.

Example
-------
>>> cpu_of("Raspberry Pi 5"), cpu_of("stm32f407vg"), cpu_of("cortex-m4f"), cpu_of("ESP32")
('cortex-a76', 'cortex-m4', 'cortex-m4', 'portable')
>>> cpu_of("cortex-a53")
'cortex-a53'
"""

from __future__ import annotations

import re

#: CPU -> its boards and chips (of several CPUs, the fastest kind), by the beginning of their names
#: in lower case without spaces and punctuation. ``portable`` is a CPU that is no Arm. From the
#: makers' data sheets and product pages.
_BOARDS_OF = {
    "cortex-a53": "raspberrypizero2 raspberrypi3 rpizero2 rpi3 imx8m",
    "cortex-a55": "rk3566 rk3568 imx93",
    "cortex-a57": "jetsonnano",
    "cortex-a7": "raspberrypi2 rpi2 stm32mp1",
    "cortex-a72": "raspberrypi4 rpi4 rk3399",
    "cortex-a76": "raspberrypi5 rpi5 rk3588",
    "cortex-a78ae": "jetsonorin",
    "cortex-a8": "beaglebone",
    "cortex-a9": "imx6",
    "cortex-m0": "stm32f0 nrf51 microbit",
    "cortex-m0plus": "raspberrypipico stm32c0 stm32g0 stm32l0 stm32u0 rp2040 pico samd21",
    "cortex-m3": "stm32f1 stm32f2 stm32l1",
    "cortex-m33": (
        "raspberrypipico2 stm32h5 stm32l5 stm32u3 stm32u5 stm32wba nrf53 nrf54 nrf91 rp2350 "
        "pico2 ra6m5 lpc55"
    ),
    "cortex-m4": (
        "stm32f3 stm32f4 stm32g4 stm32l4 stm32wb stm32wl nrf52 microbitv2 samd51 same5 ra4m1 "
        "apollo3 apollo4 max78000"
    ),
    "cortex-m55": "stm32n6 apollo5",
    "cortex-m7": "stm32f7 stm32h7 mimxrt10 mimxrt11 teensy4",
    "cortex-m85": "ra8",
    "portable": "esp32 esp8266",
}

#: The beginning of a board's or chip's name -> its CPU.
BOARDS = {board: cpu for cpu, boards in _BOARDS_OF.items() for board in boards.split()}


def cpu_of(word: str) -> str:
    """CPU name, as compilers spell it, for a board, chip or CPU; an unknown word in lower case.

    Case, spaces, punctuation and the letters of a chip's package do not matter; ``+`` is ``plus``,
    and the ``f`` of a Cortex-M with an FPU is dropped.
    """
    plain = word.strip().lower().replace("_", "-")
    letters = re.sub(r"[^a-z0-9]", "", plain)
    # The longest beginning that fits: rpizero2 is no rpi.
    board = next((b for b in sorted(BOARDS, key=len, reverse=True) if letters.startswith(b)), None)
    if board is not None:
        return BOARDS[board]
    cortex = re.fullmatch(r"cortex-?(m\d+)(\+|-?plus|f)?", plain)
    if cortex is None:
        return plain
    number, end = cortex[1], cortex[2] or ""
    return f"cortex-{number}{'' if end in ('', 'f') else 'plus'}"


def may_be_cpu(word: str) -> bool:
    """Whether a word is a board's, or begins as the names of Arm's CPUs do; LLVM is not asked."""
    name = cpu_of(word)
    return name in BOARDS.values() or name.startswith(("cortex-", "neoverse-", "apple-", "exynos-"))
