import timers from 'node:timers'

// As it is when this is loaded: tests may put one in its place that stands still.
const { setImmediate } = timers

/** Works at the end of a turn of the event loop on all that it was given in it: Node would look for other work after each. */
export function atEndOfTurn<T>(work: (items: readonly T[]) => void): (item: T) => void {
  let waiting: T[] = []

  function workOnAll(): void {
    const all = waiting
    waiting = []
    work(all)
  }

  return (item) => {
    if (waiting.push(item) === 1) setImmediate(workOnAll)
  }
}
