import { describe, expect, it } from 'vitest'
import { createFake } from './helpers/fake-source.ts'
import { openPage } from './helpers/open-page.ts'
import { serveInspector } from './helpers/serve-inspector.ts'
import { MODES, type Mode, visit } from './helpers/visit.ts'

/** Actions, panels and the login, with and without the page's script. */
describe.each(MODES)('$mode', ({ javaScriptEnabled }: Mode) => {
  const open = (options?: { path?: string; fake?: ReturnType<typeof createFake> }) =>
    openPage({ ...options, javaScriptEnabled, allowed: /status of 400/ })

  it('runs a direct action, and shows its result and the new delivery', async () => {
    const { page, rows, fake } = await open()
    await rows.first().click()
    const [before] = (await fake.source.list({ limit: 1, filters: {} })).rows
    await page.getByRole('button', { name: 'Resend' }).click()
    await page.getByText('Sent again: 200.').waitFor()
    expect(fake.runs).toMatchObject([{ name: 'resend', subject: before?.id }])
    expect(await rows.count()).toBe(41)
    expect(await rows.first().locator('a').getAttribute('aria-current')).toBe('page')
  })

  it('shows the form of an action again with the input if it is invalid', async () => {
    const { page, rows, fake } = await open()
    await rows.first().click()
    await page.getByRole('link', { name: 'Replay to …' }).click()
    await page.getByLabel('Times').fill('99')
    await page.getByLabel('Signature key').fill('parcels2027')
    await page.getByLabel('Note').fill('\nfirst\nsecond')
    await page.getByLabel('Wait between two requests').check()
    await page.getByLabel('Encoding').selectOption('base64')
    await page.getByRole('button', { name: 'Replay to …' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toBe('count must be a number up to 10')
    expect(await page.getByLabel('Times').inputValue()).toBe('99')
    expect(await page.getByLabel('Signature key').inputValue()).toBe('')
    expect(await page.getByLabel('Note').inputValue()).toBe('\nfirst\nsecond')
    expect(await page.getByLabel('Wait between two requests').isChecked()).toBe(true)
    expect(await page.getByLabel('Encoding').inputValue()).toBe('base64')
    expect(await page.content()).not.toContain('parcels2027')
    await page.getByLabel('Times').fill('2')
    await page.getByRole('button', { name: 'Replay to …' }).click()
    await page.getByText('Replayed 2 times: 503.').waitFor()
    expect(fake.runs[0]?.values).toMatchObject({ note: '\nfirst\nsecond', slow: 'true', encoding: 'base64' })
  })

  it('asks before it runs an action with a question', async () => {
    const { page, rows, fake } = await open()
    await rows.first().click()
    await page.getByRole('link', { name: 'Discard' }).click()
    await page.getByText('Discard this delivery? It cannot be restored.').waitFor()
    await page.getByRole('link', { name: 'Cancel' }).click()
    await page.locator('.tabs').waitFor()
    expect(fake.runs).toEqual([])
    await page.getByRole('link', { name: 'Discard' }).click()
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByText('The delivery is discarded.').waitFor()
    expect(await rows.count()).toBe(39)
  })

  it('shows panels, and runs their actions', async () => {
    const { page, fake } = await open()
    await page.getByRole('link', { name: 'Webhooks 1 active' }).click()
    await page.getByRole('button', { name: 'Activate or deactivate' }).click()
    await page.getByText('The webhook is not active.').waitFor()
    expect(await page.locator('#active').textContent()).toBe('not active')
    await page.getByRole('link', { name: 'Webhooks none active' }).waitFor()
    await page.getByRole('link', { name: 'Create', exact: true }).click()
    await page.getByLabel('Name').fill('hydrants')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('hydrants')
    await page.getByLabel('Payload URL').fill('https://gis.example/hooks')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('Created hydrants.').waitFor()
    await page.getByRole('link', { name: 'Delete', exact: true }).click()
    await page.getByText('Delete webhook 7?').waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Webhook 7 is deleted.').waitFor()
    expect(fake.runs.map(({ name, subject }) => [name, subject])).toEqual([
      ['toggle', '7'],
      ['create', ''],
      ['delete', '7'],
    ])
  })

  it('asks for the token, and opens the requested page after the login', async () => {
    const { url } = await serveInspector(createFake(), { token: 'a token of sixteen characters' })
    const page = await visit(`${url}/webhooks`, { javaScriptEnabled, allowed: /status of 401/ })
    await page.getByLabel('Token').fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Token').fill('a token of sixteen characters')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Webhooks' }).waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Token').waitFor()
  })
})
