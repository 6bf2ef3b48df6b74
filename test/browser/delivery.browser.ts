import { execFile } from 'node:child_process'
import { buffer as bytesOf } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createFolder } from '../helpers/folder.ts'
import { serve } from '../helpers/served.ts'
import { createFake } from './helpers/fake-source.ts'
import { openPage } from './helpers/open-page.ts'
import { MODES, type Mode } from './helpers/visit.ts'

const run = promisify(execFile)

/** The pages of a delivery, with and without the page's script. */
describe.each(MODES)('$mode', ({ javaScriptEnabled }: Mode) => {
  const open = (options?: { path?: string; fake?: ReturnType<typeof createFake> }) =>
    openPage({ ...options, javaScriptEnabled, allowed: /status of 400/ })

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
    const { page } = await open({ path: `/deliveries/${item.id}/body`, fake })
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
    const { page } = await open({ path: `/deliveries/${item.id}/curl`, fake })
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
})
