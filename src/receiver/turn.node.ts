import timers from 'node:timers'

export { drainBeside } from './drain.node.ts'

// As it is when this is loaded: tests may put one in its place that stands still.
const { setImmediate } = timers

let turn: Promise<void> | undefined

/**
 * Resolves at the end of this turn of the event loop, when Node has read and parsed whatever came in it. Each request
 * has its end then, which Node need not listen for behind the answer any more. And all that waits is done together,
 * where Node would look for other work after each.
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
