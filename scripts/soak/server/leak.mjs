import { randomBytes } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'

/** Bytes of a string's header, and of its slot in an array. */
const OVERHEAD = 16 + 8
const DAY = 86_400_000

/**
 * Plants a leak, so that a run can show that it would find it.
 *
 * @param {string} leak bytes of the heap to keep for each request, at least 32; `timer` to keep a timer for each
 *   stalled upload to the first adapter; or `0` for no leak
 * @returns {((refusal: { error: Error }) => void) | undefined} the function of the first adapter's observer
 */
export function plantLeak(leak) {
  if (leak === 'timer') {
    return ({ error }) => {
      if (error.code === 'body_timeout') setTimeout(() => {}, DAY)
    }
  }
  const kept = []
  if (leak !== '0') {
    subscribe('http.server.request.start', () => {
      kept.push(randomBytes(leak - OVERHEAD).toString('latin1'))
    })
  }
}
