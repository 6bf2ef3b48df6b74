import type { RequestListener } from 'node:http'
import { createReceiver } from 'geohook'
import { webhook } from 'geohook/node'
import { expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { checkListener, idsOf } from './receiver.ts'

/** A receiver behind a gateway: answers `code` in place of the responses that `isLimited` selects. */
function limiting(code: number, isLimited: (status: number, signature: string) => boolean): RequestListener {
  const receiver = createReceiver({
    signatureKey: KEY,
    observer: { refused() {} },
    bodyTimeout: 300,
  }).on('*', () => {})
  const listen = webhook(receiver)
  return (req, res) => {
    const { writeHead } = res
    const signature = String(req.headers['x-service'])
    res.writeHead = (status: number, ...rest: never[]) =>
      writeHead.call(res, isLimited(status, signature) ? code : status, ...rest)
    void listen(req, res)
  }
}

it.each([429, 503])('is undecided about every refusal that a rate limit replaces with %d', async (code) => {
  const report = await checkListener(
    limiting(code, (status) => status >= 400),
    {
      timeout: 10_000,
      only: [
        'signatures',
        'methods',
        'limits',
        'connections',
        'unverified-json',
        'refusal-status',
        'uniform-refusal',
        'uniform-refusal-time',
      ],
    },
  )
  expect(idsOf(report, 'failed')).toEqual([])
  // Others contain a valid delivery, or Node's HTTP server refuses them itself.
  const others =
    'valid-json stalled-uploads expect-continue cut-upload length-short length-conflicting'.split(' ')
  expect(idsOf(report, 'passed').filter((id) => !others.includes(id))).toEqual([])
  expect(report.conclusion).toBe('undecided')
})

it('is undecided about repeated deliveries that a rate limit refuses', async () => {
  const seen = new Set<string>()
  const isRepeated = (_: number, signature: string) => seen.size === seen.add(signature).size
  const report = await checkListener(limiting(429, isRepeated), {
    sideEffects: true,
    only: ['duplicate-in-turn', 'retry-after-lost-response'],
  })
  expect(idsOf(report, 'undecided')).toEqual(['duplicate-in-turn', 'retry-after-lost-response'])
})
