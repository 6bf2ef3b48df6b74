import { randomBytes } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'

/** Bytes of a string's header, and of its slot in an array. */
const OVERHEAD = 16 + 8

/**
 * Plants a leak: keeps this many bytes of the heap for each request, so that a run can show that it would find it.
 *
 * @param {number} bytes at least 32
 */
export function plantLeak(bytes) {
  const kept = []
  subscribe('http.server.request.start', () => {
    kept.push(randomBytes(bytes - OVERHEAD).toString('latin1'))
  })
}
