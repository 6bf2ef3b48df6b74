import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { explain } from 'geohook'
import { describe, expect, it } from 'vitest'
import { CLI, createFolder } from '../helpers/cli.ts'
import { expectTimes as compareTimes } from '../helpers/expect-times.ts'
import { startNode } from '../helpers/process.ts'
import { diagnosisOf, type Question } from './question.ts'
import { hmac } from './table.ts'

const KEY = 'Parcels2026'
const BODY = '{"events":[]}'
const WRONG = `${'a'.repeat(63)}b`

const diagnose = ({ headers, ...options }: Question & { headers?: Record<string, string> } = {}) =>
  diagnosisOf({
    body: BODY,
    signatureKey: KEY,
    headers: { host: 'x', 'content-type': 'application/json', 'x-service': WRONG, ...headers },
    ...options,
  })

/** Fails if a diagnosis takes more than a number of times as long as another one, by default of 64 KiB of plain text. */
async function expectTimes(
  factor: number,
  run: () => Promise<unknown>,
  base = () => diagnose({ body: 'plain text '.repeat(5950) }),
): Promise<void> {
  await diagnose() // loads the code
  await compareTimes(factor, run, base)
}

describe('explain takes about as long as for other requests', () => {
  it('for a body with thousands of combining marks on one character', async () => {
    const marks = [...'\u0345\u035d\u035c\u035a\u0301\u0321\u0323\u031b\u0334']
    const body = marks.map((mark) => mark.repeat(3400)).join('')
    await expectTimes(6, () => diagnose({ body }))
    await expectTimes(6, () => diagnose({ body: '\u0301\uff9e\u0334'.repeat(9000) }))
  }, 60_000)

  it('for a header that is repeated 100,000 times', async () => {
    const repeated = Array.from({ length: 100_000 }, () => ['x-a', 'abcd'] as const)
    const headers = [['host', 'x'], ['x-service', WRONG], ...repeated] as const
    await expectTimes(6, () => explain({ body: BODY, headers }, { signatureKey: KEY }))
  }, 60_000)

  it('for a long signature header with many digests of another algorithm', async () => {
    const value = `${'ab'.repeat(20)}.`
    await expectTimes(6, () => diagnose({ headers: { 'x-service': value.repeat(3000) } }))
    const headers = { 'x-service': value.repeat(25_000) }
    await expectTimes(6, () => diagnose({ headers }))
    const { evidence } = await diagnose({ headers })
    expect(evidence).toMatch(/Not all hypotheses .* the signature has more than 131,072 characters\.$/)
  }, 60_000)

  const manyKeys = (count: number, size: number) =>
    Array.from({ length: count }, (_, index) => `${index}${"aB3-_ \u00e9,'".repeat(size / 9)}`)

  it('for keys of many megabytes', async () => {
    await expectTimes(20, () => diagnose({ signatureKey: manyKeys(1, 10_000_000) }))
    await expectTimes(20, () => diagnose({ signatureKey: manyKeys(20, 500_000) }))
    const { evidence } = await diagnose({ signatureKey: manyKeys(1, 100_000) })
    expect(evidence).toMatch(/Not all keys were tested, because they have more than 65,536 bytes\.$/)
  }, 60_000)

  it('for many keys, and many names in the request', async () => {
    const url = `/?${'a&'.repeat(2000)}`
    await expectTimes(6, () => diagnose({ signatureKey: manyKeys(100, 900), url }))
    const body = JSON.stringify({ a: new Array(20).fill(new Array(20).fill(new Array(22).fill(''))) })
    await expectTimes(6, () => diagnose({ signatureKey: manyKeys(100, 600), body }))
  }, 60_000)

  it('for 200 headers that look like signatures', async () => {
    const nested = Buffer.from(Buffer.from('x'.repeat(60)).toString('base64')).toString('base64')
    const value = `${nested} `.repeat(18)
    const headers = Object.fromEntries(Array.from({ length: 198 }, (_, index) => [`x-${index}`, value]))
    await expectTimes(3, () => diagnose({ headers }))
  }, 60_000)

  it.each(['[1.5', '[{"a":1.0,"b":[],"c":{}}', '["\\u00e9/<"'])(
    'with the option thorough, in 512 MB, for 1 MiB and 8 MiB of %s',
    async (start) => {
      const limit = '64mb'
      const bodyOf = (size: number) => `${start}${`,${start.slice(1)}`.repeat(size / start.length - 1)}]`
      const code = `
        const { parentPort, workerData } = require('node:worker_threads')
        import(${JSON.stringify(import.meta.resolve('geohook'))})
          .then(({ explain }) => explain(...workerData))
          .then(({ cause }) => parentPort.postMessage(cause))`
      for (const size of [1024 * 1024, 8 * 1024 * 1024]) {
        const request = { body: bodyOf(size), headers: { 'x-service': WRONG } }
        const resourceLimits = { maxOldGenerationSizeMb: 512 }
        const workerData = [request, { signatureKey: KEY, limit }, { thorough: true }]
        const worker = new Worker(code, { eval: true, workerData, resourceLimits })
        expect(await once(worker, 'message')).toEqual(['unexplained'])
      }
      const body = bodyOf(8 * 1024 * 1024)
      // Not compared with the same request without the option, which takes most of its time to hash: how fast that is
      // compared with JavaScript depends on the processor.
      await expectTimes(56, () => diagnose({ body, limit, thorough: true }))
    },
    300_000,
  )

  it.each(['1e308', '1e-300'])('in 650 MB, as a command with --thorough for 1 MiB of %s', async (number) => {
    const body = createFolder().file('body', `[${`${number},`.repeat(2 ** 20 / (number.length + 1) - 2)}1]`)
    const report = "process.on('exit', () => console.error('maxRSS', process.resourceUsage().maxRSS))"
    const args = ['--import', `data:text/javascript,${report}`, CLI, 'explain', '--thorough']
    const run = startNode([...args, '--body', body, '--key', KEY, '--header', `x-service: ${WRONG}`])
    expect(await run.exited).toBe(1)
    expect(Number(run.stderr.split('maxRSS ')[1])).toBeLessThan(650_000)
  })

  it('for a body of a megabyte of line feeds', async () => {
    await expectTimes(4, () => diagnose({ body: '\n'.repeat(2 ** 20) }))
  }, 60_000)
})

describe('explain does not overflow the stack of regular expressions', () => {
  it('in a signature header of many numbers', async () => {
    expect((await diagnose({ headers: { 'x-service': '1,'.repeat(3_500_000) } })).cause).toBe('unexplained')
  })

  it.each([
    ['bytes that Go prints', `[123${' 12'.repeat(5_000_000)}]`],
    ['JavaScript objects', `[object A]${',[object A]'.repeat(4_000_000)}`],
    ['fields', 'a=&'.repeat(2_500_000)],
    ['characters of an open comment', `{/*${'* '.repeat(3_500_000)}`],
    ['characters of base64', 'abcd'.repeat(1_800_000)],
  ])('in a body of many %s', async (_, body) => {
    const headers = { 'x-service': hmac(KEY, body).toString('hex') }
    expect((await diagnose({ body, headers, limit: '512mb' })).cause).toBe('payload_malformed')
  })
})

describe('explain throws config_invalid', () => {
  it.each([{ signatureHeader: 5 }, { clock: 5 }])('for the option %j', async (option) => {
    await expect(diagnose(option as never)).rejects.toMatchObject({ code: 'config_invalid' })
  })

  it.each<[string, unknown]>([
    ['a text', 'abc'],
    ['a symbol as a value', { 'x-a': Symbol('a') }],
    ['a number as a name', [[1, 'a']]],
  ])('for headers that are %s', async (_, headers) => {
    await expect(
      explain({ body: BODY, headers: headers as never }, { signatureKey: KEY }),
    ).rejects.toMatchObject({ code: 'config_invalid' })
  })
})
