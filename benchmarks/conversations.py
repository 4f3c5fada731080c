"""Turns that read like those of an assistant, made of parts: the same for each run."""

from __future__ import annotations

import random
from itertools import product

# What is talked about, what was asked about it, and what was answered.
SUBJECTS = {
    "work": (
        ["the Postgres migration", "the nightly backup", "the login service", "the invoice export", "the search page"],
        ["hangs after an hour", "fails with a timeout", "is slower since Monday", "loses the last rows", "needs two reviews"],
        ["Look for a lock that another transaction holds.", "Raise the limit and log each retry.", "Roll back to the last release first.", "Split it into batches of a thousand."],
    ),
    "travel": (
        ["the week in Porto", "the night train to Vienna", "a hiking trip in Norway", "the flight to Lima", "the ferry to Crete"],
        ["costs too much in August", "needs a visa", "is sold out on Friday", "leaves too early for the children", "clashes with a wedding"],
        ["Go in late April: it is mild and half the price.", "Book the later one and stay near the station.", "Ask the consulate, it takes ten days.", "Two days by the coast are enough."],
    ),
    "kitchen": (
        ["the sourdough starter", "a lentil curry for eight", "the birthday cake", "pickled cucumbers", "the risotto"],
        ["smells of acetone", "turns out too salty", "has to be gluten free", "sticks to the pan", "sinks in the middle"],
        ["Feed it twice a day with rye flour.", "Add a potato and a spoon of yoghurt.", "Lower the heat and wait ten minutes more.", "Almond flour works, with one more egg."],
    ),
    "health": (
        ["my left knee", "the new blood pressure pills", "sleeping through the night", "the physiotherapy plan", "my daughter's cough"],
        ["got worse after the run", "makes me dizzy in the morning", "does not get better", "costs an hour every day", "started on Sunday"],
        ["Rest for three days and see a doctor if it swells.", "Take them in the evening and write down the readings.", "No screens after ten, and a cooler room.", "Ten minutes twice a day do as much."],
    ),
    "home": (
        ["the kitchen sink", "the heating in the attic", "the wifi upstairs", "the oak table", "the neighbour's hedge"],
        ["leaks at the joint", "clicks all night", "drops every evening", "has a water stain", "shades the tomatoes"],
        ["Change the washer, it is a ten minute job.", "Bleed the radiator and check the pressure.", "Move the router out of the cupboard.", "Sand it lightly and oil it twice."],
    ),
    "money": (
        ["the mortgage offer", "my tax return", "the savings plan", "a refund for the shoes", "the electricity bill"],
        ["runs out in June", "asks for a receipt I lost", "doubled since last year", "has a hidden fee", "must be filed by Friday"],
        ["Compare it with two other banks before you sign.", "A bank statement is accepted instead.", "Write to them with the order number.", "Put a fifth of it aside each month."],
    ),
    "learning": (
        ["the piano piece by Satie", "Spanish verbs", "the statistics exam", "a talk about whales", "my first half marathon"],
        ["feels too fast", "never sticks", "is in nine days", "bores the listeners", "ends in a cramp"],
        ["Practise the left hand alone, slowly.", "Ten cards a day, aloud, beat an hour on Sunday.", "Start with a story and one picture.", "Do the old papers against the clock."],
    ),
}  # fmt: skip
ASKING = ("Can you help me: {}?", "I don't know what to do, {}.", "Since yesterday {}.", "{}. What would you do?", "Remind me later that {}.")  # fmt: skip
WHO = ("", " Maya says so too.", " Tom disagrees.", " It is the third time this year.", " I promised my sister an answer.", " We spoke about it in spring.")  # fmt: skip
ENDING = ("", " Tell me how it went.", " If that fails, ask again.", " It worked for Ben.")
RECALLING = ("what did you say when {}?", "the advice about {}", "earlier I told you that {}")


def turns(count: int) -> list[str]:
    """Return that many turns, each once, in an order that looks random."""
    every = [
        f"{ask.format(f'{thing} {trouble}')}{who}\n{advice}{end}"
        for things, troubles, advices in SUBJECTS.values()
        for ask, thing, trouble, who, advice, end in product(ASKING, things, troubles, WHO, advices, ENDING)
    ]
    return random.Random(7).sample(every, count)


def questions(count: int) -> list[str]:
    """Return that many questions about such turns, in words of their own."""
    every = [
        recall.format(f"{thing} {trouble}")
        for things, troubles, _ in SUBJECTS.values()
        for recall, thing, trouble in product(RECALLING, things, troubles)
    ]
    return random.Random(8).sample(every, count)
