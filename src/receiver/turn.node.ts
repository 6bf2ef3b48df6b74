import timers from 'node:timers'

// As it is when this is loaded: tests may put one in its place that stands still.
const { setImmediate } = timers

let turn: Promise<void> | undefined

/**
 * Resolves at the end of this turn of the event loop, when Node has read and parsed whatever came. A body that has come
 * with its head is there whole then, with its end: nobody has to listen for that, neither an adapter nor Node itself,
 * which closes a request behind its answer. And all requests of a turn share the promise, so that they are worked on
 * together, where Node would look for other work after each.
 */
export function endOfTurn(): Promise<void> {
  turn ??= new Promise(wait)
  return turn
}

function wait(resolve: () => void): void {
  setImmediate(() => {
    turn = undefined
    resolve()
  })
}
