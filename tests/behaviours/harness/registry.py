"""The list of cases: each names the numbers of the behaviours that it shows."""
import re
from dataclasses import dataclass

CASES = []
NUMBER = re.compile(r"[0-4]\.[1-9]\d{0,2}")


@dataclass(frozen=True)
class Case:
    """A case; one of an attack has no numbers. `needs` is `process` where the case starts, stops or sets up the program itself, which no
    base URL allows, and `one_machine` where only the program on one machine does it."""
    run: object
    numbers: tuple
    sentence: str
    program: str
    needs: str
    is_long: bool

    @property
    def name(self):
        return f"{self.run.__module__.rsplit('.', 1)[-1]}.{self.run.__name__}"


def behaviour(*numbers_and_sentence, program="main", needs="", long=False):
    """Makes a function a case: `@behaviour("1.88", "1.94", "one sentence that says the behaviour")`. What is `long` begins first."""
    *numbers, sentence = numbers_and_sentence
    assert numbers and all(NUMBER.fullmatch(number) for number in numbers), f"not numbers of behaviours: {numbers}"
    assert not NUMBER.fullmatch(sentence), "the last argument says the behaviour"

    def register(run):
        CASES.append(Case(run, tuple(numbers), sentence, program, needs, long))
        return run

    return register


def attack(sentence, program="main", needs="", long=False):
    """Makes a function a case of an attack, which has no number of a behaviour: the sentence says what must hold."""

    def register(run):
        CASES.append(Case(run, (), sentence, program, needs, long))
        return run

    return register
