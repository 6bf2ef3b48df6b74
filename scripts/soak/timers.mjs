/**
 * Counts the pending timers of this process, also those that do not keep it alive. Loaded with `--import`, so that no
 * module can take the original functions before. Node's own timers, for example those of connections, and those of
 * `node:timers` are not counted.
 */
const pending = new Set()
const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis

function watchTimeout(callback, milliseconds, ...args) {
  const timer = setTimeout(
    (...given) => {
      pending.delete(timer)
      callback(...given)
    },
    milliseconds,
    ...args,
  )
  pending.add(timer)
  return timer
}

function watchInterval(...args) {
  const timer = setInterval(...args)
  pending.add(timer)
  return timer
}

const watchClear = (clear) => (timer) => {
  pending.delete(timer)
  clear(timer)
}

// Keeps the properties, because `util.promisify(setTimeout)` uses one of them.
const replace = (name, original, watched) => {
  globalThis[name] = Object.defineProperties(watched, Object.getOwnPropertyDescriptors(original))
}
replace('setTimeout', setTimeout, watchTimeout)
replace('setInterval', setInterval, watchInterval)
replace('clearTimeout', clearTimeout, watchClear(clearTimeout))
replace('clearInterval', clearInterval, watchClear(clearInterval))

export const countTimers = () => pending.size

/** Counts the timers of an idle process: the maximum of 0.2 seconds, because a timer that polls is not always pending. */
export async function countIdleTimers() {
  let maximum = 0
  for (let count = 0; count < 20; count++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    maximum = Math.max(maximum, countTimers())
  }
  return maximum
}
