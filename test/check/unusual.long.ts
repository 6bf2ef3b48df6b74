import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { createReceiver } from 'geohook'
import { checkReceiver } from 'geohook/check'
import { webhook } from 'geohook/node'
import { describe, expect, it } from 'vitest'
import { KEY } from '../helpers/deliver.ts'
import { serve } from '../helpers/served.ts'
import { always, checkListener, idsOf, resultOf } from './receiver.ts'

const receiverWith = (bodyTimeout: number): RequestListener =>
  webhook(createReceiver({ signatureKey: KEY, observer: { refused() {} }, bodyTimeout }).on('*', () => {}))
const correct = receiverWith(300)

/** Lets a function write the responses to refused requests. */
const refusing =
  (respond: (res: ServerResponse, req: IncomingMessage) => void): RequestListener =>
  (req, res) => {
    if (/^[0-9a-f]{64}$/.test(String(req.headers['x-service'])) && req.method === 'POST') {
      const { writeHead, end } = res
      let isRefused = false
      res.writeHead = (status: number, ...rest: never[]) => {
        isRefused = status >= 400
        return isRefused ? res : writeHead.call(res, status, ...rest)
      }
      res.end = ((...args: Parameters<typeof end>) => {
        if (!isRefused) return end.apply(res, args)
        Object.assign(res, { writeHead, end })
        return respond(res, req)
      }) as never
      void correct(req, res)
    } else {
      req.resume().on('end', () => respond(res, req))
    }
  }

describe('no false alarm about a receiver', () => {
  it('that becomes too busy to respond at once', async () => {
    let delay = 0
    const report = await checkListener(
      (req, res) => {
        if (req.headers['content-length'] === '1073741824') delay = 3_200
        setTimeout(correct, delay, req, res)
      },
      // The delay is longer than the 2.9 s that the check waits at first, and shorter than the 5.8 s that it waits at most.
      { only: ['too-large-length'], timeout: 2_900 },
    )
    expect(resultOf(report, 'too-large-length')).toMatchObject({ verdict: 'passed' })
  })

  it('that has a header which changes now and then', async () => {
    let count = 0
    const report = await checkListener(
      refusing((res) => res.writeHead(401, { 'x-upstream-time': String(count++ >> 1) }).end()),
      { only: ['uniform-refusal'] },
    )
    expect(resultOf(report, 'uniform-refusal')).toMatchObject({ verdict: 'passed' })
  })

  it('whose responses change for another reason than the signature', async () => {
    let count = 0
    const report = await checkListener(
      refusing((res) => res.writeHead(401).end(`unauthorized ${count++ >> 1}`)),
      { only: ['uniform-refusal'] },
    )
    expect(resultOf(report, 'uniform-refusal')).toMatchObject({
      verdict: 'undecided',
      evidence: expect.stringContaining('differs between two equal requests'),
    })
  })

  it('with two servers that respond differently', async () => {
    const servers = [1, 1, 2, 1, 2, 1, 1, 2, 2]
    let count = 0
    const report = await checkListener(
      refusing((res) => res.writeHead(401).end(`unauthorized by ${servers[count++ % servers.length]}`)),
      { only: ['uniform-refusal'] },
    )
    expect(resultOf(report, 'uniform-refusal')).toMatchObject({ verdict: 'undecided' })
  })

  it('with two servers that respond in turn', async () => {
    let count = 0
    const report = await checkListener(
      (req, res) => {
        // The first 11 requests come before the comparison, which repeats 4 requests.
        res.setHeader('x-server', count > 10 && (count - 11) % 5 === 0 ? 'b' : 'a')
        count++
        correct(req, res)
      },
      { only: ['body-proto'] },
    )
    expect(resultOf(report, 'body-proto').verdict).toBe('passed')
    expect(count).toBeGreaterThan(11 + 4)
  })

  it('that closes the connection after a request with another method', async () => {
    const report = await checkListener(
      (req, res) => (req.method === 'POST' ? correct(req, res) : req.socket.destroy()),
      { only: ['methods'] },
    )
    expect(idsOf(report, 'failed')).toEqual(['method-not-allowed']) // a may
  })

  it('that answers with HTTP/1.0', async () => {
    const report = await checkListener(
      refusing((res) => res.socket?.end('HTTP/1.0 401 Unauthorized\r\ncontent-length: 0\r\n\r\n')),
      { only: ['uniform-refusal-time'], timeout: 2_000 },
    )
    expect(resultOf(report, 'uniform-refusal-time').verdict).not.toBe('undecided')
  })

  it('that shows its own path, and links to scripts', async () => {
    const { results } = await checkListener(
      refusing((res, { url = '' }) =>
        res.writeHead(401).end(`<script src="/app/main.js"></script> no access to ${url}`),
      ),
      { only: ['no-stack-trace'] },
    )
    expect(results.find(({ id }) => id === 'no-stack-trace')).toMatchObject({ verdict: 'passed' })
  })

  it('that closes the connection after a broken request', async () => {
    const report = await checkListener(
      (req, res) => {
        // In place of Node's answer 400 to the bytes after the body.
        if (req.socket.listenerCount('close') < 20)
          req.socket.once('data', () => setImmediate(() => req.complete && req.socket.destroy()))
        correct(req, res)
      },
      { only: ['length-short'] },
    )
    expect(resultOf(report, 'length-short').verdict).toBe('passed')
  })
})

describe('the result does not depend on the digits of the signatures', () => {
  /** Checks a receiver many times that decides by the right signature of a body and the header. */
  async function checkOften(
    accepts: (right: Buffer, header: string) => boolean,
    rounds: number,
    only: readonly string[],
  ): Promise<string[]> {
    const { url } = await serve((req, res) => {
      const hash = createHmac('sha256', KEY)
      req.on('data', (chunk) => hash.update(chunk))
      req.on('end', () => {
        const isRight = accepts(hash.digest(), String(req.headers['x-service'] ?? 'none'))
        res.writeHead(isRight ? 200 : 401).end()
      })
    })
    const results = new Set<string>()
    for (let round = 0; round < rounds; round++) {
      const report = await checkReceiver({ url, signatureKey: KEY, only })
      for (const { id, verdict } of report.results) if (only.includes(id)) results.add(`${id} ${verdict}`)
    }
    return [...results].sort()
  }

  it.each(['startsWith', 'endsWith'] as const)('if the receiver compares with %s', async (compare) => {
    const only = ['signature-malformed', 'signature-odd-hex', 'signature-truncated']
    const accepts = (right: Buffer, header: string) => right.toString('hex')[compare](header)
    // The first digit is the same in one of 16 rounds, and so is the last one.
    expect(await checkOften(accepts, 100, only)).toEqual([
      'signature-malformed passed',
      'signature-odd-hex passed',
      'signature-truncated failed',
    ])
  })

  it.each([
    ['takes + for a space', /\+/g],
    ['does not know / in base64', /\//g],
  ])('if the receiver %s', async (_, digits) => {
    const only = ['encoding-base64', 'percent-encoded']
    const decodes = (right: Buffer, header: string) => {
      const signature = decodeURIComponent(header.replace(digits, ' ')).replace(digits, ' ')
      return [right.toString('base64'), right.toString('hex')].includes(signature.replace(/^sha256=/, ''))
    }
    // One of two signatures in base64 does not contain the digit.
    expect(await checkOften(decodes, 30, only)).toEqual(['encoding-base64 failed', 'percent-encoded failed'])
  })
})

describe('undecided', () => {
  it('is a long response without the key at its start', async () => {
    const report = await checkListener(
      refusing((res) => res.writeHead(401).end('x'.repeat(100_000))),
      { only: ['no-secret', 'no-signature', 'no-stack-trace'] },
    )
    expect(idsOf(report, 'undecided')).toEqual(['no-secret', 'no-signature', 'no-stack-trace'])
  })

  it('is whether a response contains a key that is a word', async () => {
    const signatureKey = 'secret'
    const listener = webhook(createReceiver({ signatureKey, observer: { refused() {} } }).on('*', () => {}))
    const report = await checkListener(
      (req, res) => {
        res.setHeader('x-why', 'invalid secret')
        void listener(req, res)
      },
      { signatureKey, only: ['no-secret', 'signature-wrong-key'] },
    )
    expect(resultOf(report, 'no-secret').verdict).toBe('undecided')
    expect(resultOf(report, 'signature-wrong-key').verdict).toBe('passed')
  })
})

it('finds that stalled requests block a receiver, even if it is slow', async () => {
  const handle = receiverWith(60_000)
  let last: Promise<unknown> = Promise.resolve()
  const report = await checkListener(
    (req, res) => {
      const closed = once(res, 'close')
      last = last.then(async () => {
        if (req.socket.destroyed) return
        await wait(1_000)
        handle(req, res)
        await closed
      })
    },
    { only: ['stalled-uploads'], timeout: 10_000 },
  )
  expect(resultOf(report, 'stalled-uploads').verdict).toBe('failed')
})

it('reads at most 64 KiB of headers', async () => {
  const report = await checkListener(
    (_, res) => res.socket?.end(`HTTP/1.1 200 OK\r\n${`x-long: ${'a'.repeat(1_000)}\r\n`.repeat(70)}\r\n`),
    { only: ['redirect'] },
  )
  expect(resultOf(report, 'valid-json').evidence).toContain('a response that is not HTTP/1.1')
})

it('shows the first part of a long header', async () => {
  const location = `/hook?${'a'.repeat(10_000)}`
  const report = await checkListener(always(308, '', { location }), { only: ['redirect'] })
  expect(resultOf(report, 'redirect').evidence).toMatch(/location: \/hook\?a{50,150}…$/)
})
