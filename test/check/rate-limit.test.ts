import { createReceiver } from 'geohook'
import { checkReceiver } from 'geohook/check'
import { webhook } from 'geohook/node'
import { expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { serve } from '../helpers/served.ts'

it('a 429 in place of each refusal decides nothing', async () => {
  const receiver = createReceiver({ signatureKey: KEY, observer: { refused() {} } }).on('*', () => {})
  const listen = webhook(receiver)
  const { url } = await serve((req, res) => {
    const { writeHead } = res
    // Stands for a gateway that limits the number of refused requests.
    res.writeHead = (status: number, ...rest: never[]) =>
      writeHead.call(res, status >= 400 ? 429 : status, ...rest)
    void listen(req, res)
  })
  const { conclusion, results } = await checkReceiver({
    url,
    signatureKey: KEY,
    timeout: 2000,
    only: ['signatures', 'methods', 'limits', 'refusal-status', 'uniform-refusal', 'uniform-refusal-time'],
  })
  const ran = results.filter(({ verdict }) => verdict !== 'skipped')
  expect(ran.filter(({ verdict }) => verdict === 'failed')).toEqual([])
  expect(ran.filter(({ verdict }) => verdict === 'undecided').length).toBeGreaterThan(8)
  expect(conclusion).toBe('undecided')
})
