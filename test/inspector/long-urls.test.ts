import { expect, it } from 'vitest'
import { KEY, payloadOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { startInspected, textOf } from './helpers/request-log-support.ts'

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
