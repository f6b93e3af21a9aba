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

#: The beginning of a board's or chip's name, in lower case without spaces and punctuation -> its
#: CPU (of several, the fastest kind). ``portable`` is a CPU that is no Arm. From the makers' data
#: sheets and product pages.
BOARDS = {
    "raspberrypizero2": "cortex-a53",
    "raspberrypi2": "cortex-a7",
    "raspberrypi3": "cortex-a53",
    "raspberrypi4": "cortex-a72",
    "raspberrypi5": "cortex-a76",
    "raspberrypipico2": "cortex-m33",
    "raspberrypipico": "cortex-m0plus",
    "rpizero2": "cortex-a53",
    "rpi2": "cortex-a7",
    "rpi3": "cortex-a53",
    "rpi4": "cortex-a72",
    "rpi5": "cortex-a76",
    "beaglebone": "cortex-a8",
    "jetsonnano": "cortex-a57",
    "jetsonorin": "cortex-a78ae",
    "rk3399": "cortex-a72",
    "rk3566": "cortex-a55",
    "rk3568": "cortex-a55",
    "rk3588": "cortex-a76",
    "imx6": "cortex-a9",
    "imx8m": "cortex-a53",
    "imx93": "cortex-a55",
    "stm32c0": "cortex-m0plus",
    "stm32f0": "cortex-m0",
    "stm32f1": "cortex-m3",
    "stm32f2": "cortex-m3",
    "stm32f3": "cortex-m4",
    "stm32f4": "cortex-m4",
    "stm32f7": "cortex-m7",
    "stm32g0": "cortex-m0plus",
    "stm32g4": "cortex-m4",
    "stm32h5": "cortex-m33",
    "stm32h7": "cortex-m7",
    "stm32l0": "cortex-m0plus",
    "stm32l1": "cortex-m3",
    "stm32l4": "cortex-m4",
    "stm32l5": "cortex-m33",
    "stm32mp1": "cortex-a7",
    "stm32n6": "cortex-m55",
    "stm32u0": "cortex-m0plus",
    "stm32u3": "cortex-m33",
    "stm32u5": "cortex-m33",
    "stm32wba": "cortex-m33",
    "stm32wb": "cortex-m4",
    "stm32wl": "cortex-m4",
    "nrf51": "cortex-m0",
    "nrf52": "cortex-m4",
    "nrf53": "cortex-m33",
    "nrf54": "cortex-m33",
    "nrf91": "cortex-m33",
    "rp2040": "cortex-m0plus",
    "rp2350": "cortex-m33",
    "pico2": "cortex-m33",
    "pico": "cortex-m0plus",
    "microbitv2": "cortex-m4",
    "microbit": "cortex-m0",
    "samd21": "cortex-m0plus",
    "samd51": "cortex-m4",
    "same5": "cortex-m4",
    "ra4m1": "cortex-m4",
    "ra6m5": "cortex-m33",
    "ra8": "cortex-m85",
    "mimxrt10": "cortex-m7",
    "mimxrt11": "cortex-m7",
    "teensy4": "cortex-m7",
    "lpc55": "cortex-m33",
    "apollo3": "cortex-m4",
    "apollo4": "cortex-m4",
    "apollo5": "cortex-m55",
    "max78000": "cortex-m4",
    "esp32": "portable",
    "esp8266": "portable",
}


def cpu_of(word: str) -> str:
    """The CPU that a word means, in the compilers' spelling; an unknown word in lower case.

    Parameters
    ----------
    word : str
        A board, a chip with or without the letters of its package, or a CPU: case, spaces and
        punctuation do not matter, ``+`` is ``plus``, and the ``f`` of a Cortex-M with an FPU goes.
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
