import { execFile } from 'node:child_process'
import { buffer as bytesOf } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createFolder } from '../helpers/folder.ts'
import { serve } from '../helpers/served.ts'
import { createFake } from './helpers/fake-source.ts'
import { serveInspector } from './helpers/serve-inspector.ts'
import { MODES, type Mode, untilLive, visit } from './helpers/visit.ts'

const run = promisify(execFile)

/** Everything that must work with and without the page's script. */
describe.each(MODES)('$mode', ({ javaScriptEnabled }: Mode) => {
  async function open(path = '/', fake = createFake()) {
    const { url } = await serveInspector(fake)
    const page = await visit(url + path, { javaScriptEnabled, allowed: /status of 400/ })
    if (javaScriptEnabled) await untilLive(page)
    const rows = page.locator('#rows > li')
    const choose = async (name: string, value: string): Promise<void> => {
      await page.locator(`#filters [name=${name}]`).selectOption(value)
      if (!javaScriptEnabled) await page.getByRole('button', { name: 'Filter' }).click()
      await page.waitForURL((address) => address.searchParams.get(name) === value)
    }
    return { fake, url, page, rows, choose }
  }
  const shown = async (texts: Promise<string[]>): Promise<Set<string>> => new Set(await texts)

  it('lists deliveries, newest first, with their outcome', async () => {
    const { fake, page, rows } = await open()
    expect(await rows.count()).toBe(40)
    expect(await rows.first().textContent()).toMatch(
      /esriJobSucceeded.*Buffer\.GPServer · jobs.*401 refused ×3/s,
    )
    expect(await page.locator('#summary').textContent()).toMatch(
      /36 handled\s+4 refused|4 refused\s+36 handled/,
    )
    expect(await rows.last().getAttribute('data-id')).toBe(
      (await fake.source.list({ limit: 100, filters: {} })).rows[39]?.id,
    )
  })

  it('filters by service, webhook, change type and outcome, and keeps the filter in the address', async () => {
    const { url, page, rows, choose } = await open()
    for (const [name, value, part, pattern, count] of [
      ['service', 'Parcels.FeatureServer', '.place', /^Parcels\.FeatureServer/, 20],
      ['webhook', 'hydrants', '.place', /hydrants$/, 10],
      ['type', 'FeaturesDeleted', '.types', /^FeaturesDeleted$/, 10],
      ['outcome', 'refused', '.outcome', /refused/, 4],
    ] as const) {
      await choose(name, value)
      await rows.nth(count).waitFor({ state: 'detached' })
      await page.reload()
      expect(await rows.count()).toBe(count)
      for (const text of await shown(rows.locator(part).allTextContents())) expect(text).toMatch(pattern)
      expect(await page.locator(`#filters [name=${name}]`).inputValue()).toBe(value)
      await rows.first().click()
      await page.locator('.tabs').waitFor()
      expect(new URL(page.url()).searchParams.get(name)).toBe(value)
      await page.goto(url)
    }
  })

  it('filters by text, and says so if nothing matches', async () => {
    const { page, rows } = await open()
    await page.locator('#filters [name=text]').fill('HYDRANTS')
    await page.keyboard.press('Enter')
    await rows.nth(10).waitFor({ state: 'detached' })
    expect(new URL(page.url()).searchParams.get('text')).toBe('HYDRANTS')
    await page.locator('#filters [name=text]').fill('nothing like it')
    await page.keyboard.press('Enter')
    await page.getByText('No deliveries match the filters.').waitFor()
    expect(await rows.count()).toBe(0)
  })

  it('shows a refused delivery with cause, evidence and fix', async () => {
    const { page, rows } = await open()
    await rows.first().click()
    const why = page.getByRole('region', { name: 'Why' })
    await why.getByText('key_whitespace').waitFor()
    expect(await why.textContent()).toMatch(/refused: signature_mismatch.*Evidence.*Fix/s)
    expect(await rows.first().locator('a').getAttribute('aria-current')).toBe('page')
  })

  it('has tabs, each with an address of its own', async () => {
    const { page, rows } = await open()
    await rows.first().click()
    for (const [tab, text] of [
      ['Body', '"jobId": "j0"'],
      ['Headers', 'x-service'],
      ['Events', 'esriJobSucceeded'],
      ['Signature', 'hex or base64'],
      ['Attempts', 'Attempt 3'],
      ['curl', 'curl -X POST'],
    ] as const) {
      await page.locator('.tabs').getByRole('link', { name: tab, exact: true }).click()
      await page.locator(`.tabs [aria-current=page]`, { hasText: tab }).waitFor()
      expect(await page.locator('#pane').textContent()).toContain(text)
      expect(await rows.first().locator('a').getAttribute('aria-current')).toBe('page')
    }
    await page.reload()
    expect(await page.locator('#pane').textContent()).toContain('curl -X POST')
  })

  it('shows a body pretty, raw and in hex, and downloads its exact bytes', async () => {
    const body = Buffer.from([
      0xef,
      0xbb,
      0xbf,
      ...Buffer.from('{"a":1,\r\n"b":"\u00e9\u{1f30d}"}'),
      0xff,
      0x00,
    ])
    const fake = createFake()
    const item = fake.add()
    fake.put({ ...item, request: { ...item.request, body } })
    const { page } = await open(`/deliveries/${item.id}/body`, fake)
    await page.getByRole('link', { name: 'Hex' }).click()
    await page.waitForURL('**view=hex')
    await page.getByText('00000000  ef bb bf 7b').waitFor()
    await page.getByRole('link', { name: 'Raw' }).click()
    await page.waitForURL('**view=raw')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download' }).click(),
    ])
    expect(Buffer.compare(await bytesOf(await download.createReadStream()), body)).toBe(0)
    expect(download.suggestedFilename()).toBe(`${item.id}.bin`)
  })

  it.each([
    ['text', Buffer.from(`@it's "quoted" $HOME \\n %s\n\u00e9`)],
    ['bytes', Buffer.from([0, 1, 0xff, 0x27, 10])],
    ['nothing', Buffer.alloc(0)],
  ])('shows a curl command that sends the same bytes: %s', async (_, body) => {
    const received: { body: Buffer; signature: unknown }[] = []
    const { url: target } = await serve(async (req, res) => {
      const chunks: Buffer[] = []
      for await (const chunk of req) chunks.push(chunk as Buffer)
      received.push({ body: Buffer.concat(chunks), signature: req.headers['x-service'] })
      res.end()
    })
    const fake = createFake()
    const item = fake.add({ target: `${target}/hooks/parcels` })
    fake.put({ ...item, request: { ...item.request, body, address: `${target}/hooks/parcels` } })
    const { page } = await open(`/deliveries/${item.id}/curl`, fake)
    const command = (await page.locator('#curl').textContent()) ?? ''
    const folder = createFolder()
    try {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download the body' }).click(),
      ])
      await download.saveAs(folder.fileIn(download.suggestedFilename()))
      await run('sh', ['-c', command], { cwd: folder.path })
    } finally {
      await folder.remove()
    }
    const signature = item.request.headers.find(([name]) => name === 'x-service')?.[1]
    expect(received).toEqual([{ body, signature }])
  })

  it('compares two deliveries', async () => {
    const { page, rows, fake } = await open()
    const { rows: all } = await fake.source.list({ limit: 40, filters: {} })
    await rows.first().click()
    await page.locator('#b').selectOption(all[4]!.id)
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByRole('heading', { name: 'Comparison' }).waitFor()
    expect(new URL(page.url()).searchParams.get('b')).toBe(all[4]!.id)
    const body = page.getByRole('region', { name: 'Body' })
    expect(await body.locator('ins').count()).toBeGreaterThan(0)
    expect(await body.locator('del').count()).toBeGreaterThan(0)
  })

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

  it('clears the list', async () => {
    const { page, rows } = await open()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('The list is cleared.').waitFor()
    await page.getByText('No deliveries yet.').waitFor()
    expect(await rows.count()).toBe(0)
  })

  it('goes back and forward', async () => {
    const { page, rows } = await open()
    const heading = page.locator('h2')
    await rows.nth(1).click()
    await heading.getByText('FeaturesDeleted').waitFor()
    await page.locator('.tabs').getByRole('link', { name: 'Headers' }).click()
    await page.getByRole('columnheader', { name: 'Header' }).waitFor()
    await page.goBack()
    await page.locator('.tabs [aria-current=page]', { hasText: 'Overview' }).waitFor()
    await page.goBack()
    await heading.getByText('Overview').waitFor()
    expect(await page.locator('#rows [aria-current]').count()).toBe(0)
    await page.goForward()
    await heading.getByText('FeaturesDeleted').waitFor()
    expect(await rows.nth(1).locator('a').getAttribute('aria-current')).toBe('page')
  })

  it('pages through more deliveries than one page shows', async () => {
    const { page, rows, fake } = await open('/', createFake({ count: 1_030 }))
    expect(await rows.count()).toBe(1000)
    await page.getByRole('link', { name: 'Older deliveries' }).click()
    await page.getByRole('link', { name: 'Newest deliveries' }).waitFor()
    expect(await rows.count()).toBe(30)
    const { id } = fake.add()
    await page.getByRole('link', { name: 'Newest deliveries' }).click()
    await page.locator(`[data-id="${id}"]`).waitFor()
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
