import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { createReceiver } from 'geohook'
import { checkReceiver } from 'geohook/check'
import { webhook } from 'geohook/node'
import { expect, it, vi } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { serve } from '../helpers/served.ts'
import { resultOf } from './receiver.ts'

/**
 * Verifies deliveries, and delays some responses by `milliseconds`. `isSlow` gets whether the signature is wrong from
 * its first character, and the number of the comparison, from 0.
 */
function slow(
  isSlow: (isWrongFromStart: boolean, comparison: number) => boolean,
  milliseconds: number,
): RequestListener {
  const listen = webhook(createReceiver({ signatureKey: KEY, observer: { refused() {} } }).on('*', () => {}))
  const connections = new Set<Socket>()
  return (req, res) => {
    // In the signature that is wrong from the start, the check replaced all characters.
    const isWrongFromStart = /^[04]+$/.test(String(req.headers['x-service']))
    // Each comparison has a connection of its own, and begins with such a signature.
    if (isWrongFromStart) connections.add(req.socket)
    const delay = isSlow(isWrongFromStart, connections.size - 1) ? milliseconds : 0
    setTimeout(() => void listen(req, res), delay)
  }
}

/** Checks until the result is the expected one. The delay doubles each time: a busy machine hides a short delay. */
function expectResult(
  id: string,
  listenerWith: (delay: number) => RequestListener,
  expected: object,
): Promise<void> {
  let delay = 1.5
  return vi.waitFor(
    async () => {
      delay = Math.min(48, delay * 2)
      const { url } = await serve(listenerWith(delay))
      const report = await checkReceiver({
        url: `${url}/hook`,
        signatureKey: KEY,
        unknownUrl: `${url}/unknown`,
        only: [id],
        timeout: 5_000,
      })
      expect(resultOf(report, id)).toMatchObject(expected)
    },
    { timeout: 100_000 },
  )
}

it('a signature that is right until the middle takes longer', () =>
  expectResult('uniform-refusal-time', (delay) => slow((isWrongFromStart) => !isWrongFromStart, delay), {
    verdict: 'failed',
    evidence: expect.stringContaining('the signature whose first half is right took longer'),
  }))

it('a difference that the second comparison contradicts is not a failure', () =>
  expectResult(
    'uniform-refusal-time',
    (delay) => slow((isWrongFromStart, comparison) => isWrongFromStart === (comparison === 1), delay),
    {
      verdict: 'passed',
      evidence: 'a second comparison contradicted the difference that the first one found',
    },
  ))

it('an unknown tenant takes less time than a tenant', () => {
  const listen = webhook(createReceiver({ signatureKey: KEY, observer: { refused() {} } }).on('*', () => {}))
  return expectResult(
    'unknown-tenant-time',
    (delay) => (req, res) => void setTimeout(() => void listen(req, res), req.url === '/hook' ? delay : 0),
    { verdict: 'failed', evidence: expect.stringContaining('the unknown tenant took less') },
  )
})
