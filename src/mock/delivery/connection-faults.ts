import { setTimeout as pause } from 'node:timers/promises'
import type { Fault, FaultName } from '../faults/faults.ts'
import type { BodyWriter } from './http-client.ts'

// Sends requests that a correct HTTP client would refuse to send.

/** @param onWrite called after each write, with the number of body bytes in this write */
type FaultyWriter = (fault: Readonly<Fault>, onWrite: (bytes: number) => void) => BodyWriter

const WRITERS: { [fault in FaultName]?: FaultyWriter } = {
  slow_drip:
    ({ delay = 100 }, onWrite) =>
    async (req, body) => {
      const ended = new AbortController()
      req.once('close', () => ended.abort())
      for (let index = 0; index < body.length && !req.destroyed; index++) {
        req.write(body.subarray(index, index + 1))
        onWrite(1)
        await pause(delay, undefined, { signal: ended.signal }).catch(() => {})
      }
      req.end()
    },
  connection_dropped: (_fault, onWrite) => async (req, body) => {
    const half = body.subarray(0, body.length >> 1)
    await new Promise((resolve) => req.write(half, resolve))
    onWrite(half.length)
    req.destroy(new Error('the connection was dropped'))
  },
  wrong_length: (_fault, onWrite) => (req, body) => {
    req.write(body)
    onWrite(body.length)
  },
}

/** Returns the writer for a connection fault; undefined for another fault. */
export const writerOf = (fault: Readonly<Fault>, onWrite: (bytes: number) => void): BodyWriter | undefined =>
  WRITERS[fault.fault]?.(fault, onWrite)
