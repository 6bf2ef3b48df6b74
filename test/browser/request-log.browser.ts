import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startGeohook } from '../helpers/cli.ts'
import { base64Of, KEY, payloadOf, signatureOf } from '../helpers/deliver.ts'
import { startInspected } from '../inspector/helpers/request-log-support.ts'
import { expectNoSecrets } from './helpers/secrets.ts'
import { MODES, type Mode, untilLive, visit } from './helpers/visit.ts'

const body = payloadOf('FeaturesCreated')
const edited = payloadOf('FeaturesDeleted')

async function post(url: string, signature: string): Promise<number> {
  const headers = { 'content-type': 'application/json', 'x-service': signature }
  const response = await fetch(url, { method: 'POST', headers, body })
  await response.text()
  return response.status
}

/** Sends a verified and a refused request, and looks at both. Then sends the refused one again, edited and signed. */
async function tour({ javaScriptEnabled }: Mode, page: Page, hook: string): Promise<void> {
  const rows = page.locator('#rows > li')
  const refresh = async (): Promise<void> => void (javaScriptEnabled || (await page.reload()))
  const tab = (name: string) => page.locator('.tabs').getByRole('link', { name }).click()
  expect(await post(hook, base64Of(body))).toBe(200)
  expect(await post(hook, signatureOf(body, `${KEY}\n`))).toBe(401)
  await refresh()
  await rows.first().getByText('401 refused').waitFor()
  await rows.last().getByText('200 handled').waitFor()

  await rows.last().click()
  await page.getByRole('heading', { name: 'FeaturesCreated' }).waitFor()
  await tab('Signature')
  await page.getByText(/verified with the only key.*sent in base64/).waitFor()

  await rows.first().click()
  const why = page.getByRole('region', { name: 'Why' })
  await why.getByText('key_whitespace').waitFor()
  expect(await why.textContent()).toMatch(/Evidence.*the key with "\\n" after it.*Fix/s)

  await page.getByRole('link', { name: 'Resend' }).click()
  await page.getByLabel('Address').fill(hook)
  await page.getByRole('button', { name: 'Resend' }).click()
  await page
    .locator('.notice')
    .getByText(/answered 401/)
    .waitFor()
  await refresh()
  await rows.nth(2).waitFor()
  await page.getByRole('link', { name: 'Edit and sign' }).click()
  expect(await page.getByLabel('Body', { exact: true }).inputValue()).toBe(body)
  await page.getByLabel('Body', { exact: true }).fill(edited)
  await page.getByLabel('Address').fill(hook)
  await page.getByRole('button', { name: 'Edit and sign' }).click()
  await page
    .locator('.notice')
    .getByText(/answered 200/)
    .waitFor()
  await refresh()
  await rows.first().getByText('FeaturesDeleted').waitFor()
  await rows.first().getByText('200 handled').waitFor()
}

describe.each(MODES)('a receiver, $mode', (mode) => {
  it('shows why it refused a request, and sends requests again', async () => {
    const { hook, pageUrl } = await startInspected()
    const page = await visit(pageUrl, mode)
    if (mode.javaScriptEnabled) await untilLive(page)
    await tour(mode, page, hook)
    await expectNoSecrets(pageUrl, [KEY, signatureOf(body)])
  })
})

it('geohook listen --inspect serves the page of its receiver', async () => {
  const [mode] = MODES
  const listener = startGeohook(['listen', '--port', '0', '--inspect', '0'], { env: { SIGNATURE_KEY: KEY } })
  onTestFinished(async () => void (await listener.stop()))
  const [, hook = ''] = await listener.printed(/(http:\/\/[\d.]+:\d+\/)/)
  const [, url = ''] = await listener.printed(/inspector on (http:\/\/127\.0\.0\.1:\d+)\/\n/)
  const page = await visit(url, mode)
  await untilLive(page)
  await tour(mode, page, hook)
  await expectNoSecrets(url, [KEY, signatureOf(body)])
})
