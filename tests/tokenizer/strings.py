"""Strings in 20 scripts, with what tokenizers stumble over, from a seed."""

from __future__ import annotations

import random

#: Script -> ranges of its characters; combining marks are among them.
SCRIPTS = {
    "Latin": "azAZàöøÿāſ", "Greek": "άώΑΩ", "Cyrillic": "аяАЯёџ", "Armenian": "աֆ",
    "Hebrew": "אתְֹ", "Arabic": "ءيًْ٠٩", "Devanagari": "ऄहािी्०९",
    "Bengali": "অহািী০৯", "Tamil": "அஹாூ௦௲", "Telugu": "అహాూ", "Thai": "กฮ่๋๐๙",
    "Lao": "ກຮ່໋", "Georgian": "აჰ", "Amharic": "ሀፚ", "Khmer": "កឱា៊", "Hiragana": "ぁゔ゙゚",
    "Katakana": "ァヺ", "Han": "一龠", "Hangul": "가힣ᄀ하ᅵᆨᇂ", "Cherokee": "ᎠᏴ",
    "Vietnamese": "ạỵ̃̀̂̄",
}  # fmt: skip
ODD = (
    " ", "  ", "   ", "\n", "\r\n", "\n\n \n", "\t", " \t ", "\u00a0", "\u3000",
    "\u2028", "\u0085", "\u200b", "\u180e", "'s", "'S", "'ſ", "'ll", "'VE", "'t", "'",
    "’s", "don't", "I'M", "it'd", ".", "...", "!?", " (x)", "-", "--", "=>", "\"", "#",
    "1", "12", "123", "1234567", "3.14", "½", "Ⅷ", "²", "①", "٣", "😀", "👩‍👩‍👧", "🇩🇪",
    "e\u0301", "a\u0323\u0307", "a\u0307\u0323", "\u212b", "\u1e9b\u0323", "\u0344",
    "\u0958", "\ufb1d", "\U0001d15e", "\ufffd", "\0", "\x7f", "x\u200d", "_",
    "__init__", "▁", " ▁", "<|end|>", " <|end|> ", "<|start|>", "  <pad>  x", "<extra>",
    "<extra>x", "<ext", "<|end", "<0x41>", "<unk>", "\U000e0041", "\U0010ffff",
    "\ue000",
)  # fmt: skip


def _letters(script: str) -> list[str]:
    text = SCRIPTS[script]
    found = []
    for k in range(0, len(text) - 1, 2):
        low, high = sorted((ord(text[k]), ord(text[k + 1])))
        found += [chr(c) for c in range(low, high + 1)] if high - low < 12000 else [text[k]]
    return found


def sentences(count: int, seed: int) -> list[str]:
    """Different strings: words of a script, which come again, with odd things among them."""
    draw = random.Random(seed)
    words = {}
    for script in SCRIPTS:
        letters = _letters(script)
        few = draw.sample(letters, min(len(letters), 40))
        words[script] = ["".join(draw.choices(few, k=draw.randint(1, 9))) for _ in range(60)]
        words[script] += ["".join(draw.choices(letters, k=draw.randint(1, 6))) for _ in range(60)]
    found: dict[str, None] = {}
    while len(found) < count:
        script = list(SCRIPTS)[len(found) % len(SCRIPTS)]
        pieces = []
        for _ in range(draw.randint(0, 9)):
            pieces.append(draw.choice(words[script if draw.random() < 0.9 else "Latin"]))
            if draw.random() < 0.4:
                pieces.append(draw.choice(ODD))
            if draw.random() < 0.6:
                pieces.append(" ")
        found["".join(pieces)] = None
    return list(found)
