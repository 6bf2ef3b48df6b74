import { createReceiver } from 'geohook'
import { createReception, inspector } from 'geohook/inspector'
import { expect, it } from 'vitest'
import { KEY, payloadOf } from '../helpers/deliver.ts'
import { expectTimes } from '../helpers/expect-times.ts'
import { send } from '../helpers/http.ts'
import { quiet, startInspected, textOf } from './helpers/reception-support.ts'

const TOKEN = 'a token of the test'

/** The page of a reception after many refused requests. */
async function openList(url: string): Promise<() => Promise<string>> {
  const options = { signatureKey: KEY, observer: quiet }
  const reception = createReception(options)
  const receiver = createReceiver({ ...options, observer: reception.observer }).on('*', () => {})
  for (let index = 0; index < 200; index++)
    await receiver.fetch(new Request(`http://a.example${url}`, { method: 'POST', body: '{}' }))
  const page = inspector(reception, { token: TOKEN })
  return async () => {
    const headers = { authorization: `Bearer ${TOKEN}` }
    return (await page.fetch(new Request('http://app.example/', { headers }))).text()
  }
}

it.each(["'", '%70', '%2570', '\\p'])(
  'long URLs of %s make the list neither large nor slow',
  async (part) => {
    const lists = await Promise.all(
      [30, 15_000].map((length) => openList(`/hook?${part.repeat(length / part.length)}`)),
    )
    const [short = async () => '', long = short] = lists
    const sizes = [(await short()).length, (await long()).length] as const
    expect(sizes[1] / sizes[0]).toBeLessThan(10)
    await expectTimes(10, long, short)
  },
)

it('the list shows the beginning of a long path, and hides a key at its end completely', async () => {
  for (let length = 185 - KEY.length; length <= 200; length += 3) {
    const { hook, page } = await startInspected()
    const path = `/hook?${'a'.repeat(length)}`.slice(0, length)
    await send(`${new URL(path, hook)}${KEY}${'b'.repeat(300)}`, { headers: {}, body: '{}' })
    const [id = ''] = await page.ids()
    const row = await page.row(id)
    expect(row, String(length)).toContain(`${path}***`.slice(0, 200))
    expect(row).toContain('…')
    expect(row).not.toContain(KEY.slice(0, 3))
    expect(textOf((await page.get(`/deliveries/${id}/headers`)).text)).toContain('b'.repeat(300))
  }
})

it('a path of a usual length is not cut', async () => {
  const { hook, page } = await startInspected()
  await send(`${hook}?a=1`, { headers: {}, body: payloadOf('FeaturesCreated') })
  const [id = ''] = await page.ids()
  expect(await page.row(id)).toContain('/hook?a=1')
  expect(await page.row(id)).not.toContain('…')
})
