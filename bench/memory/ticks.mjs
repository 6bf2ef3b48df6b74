/** Measures the longest event loop tick between `start` and `end` in milliseconds, and keeps the event loop busy. */
export function createTicks() {
  let running
  let last
  let longest
  function tick() {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    running = setImmediate(tick)
  }
  return {
    start() {
      longest = 0
      last = performance.now()
      running = setImmediate(tick)
    },
    end() {
      clearImmediate(running)
      return longest
    },
  }
}
