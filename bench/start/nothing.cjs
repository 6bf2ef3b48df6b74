// Nothing: what loading any module at all takes.
