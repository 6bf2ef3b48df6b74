import { describe, expect, it, vi } from 'vitest'
import type { Item } from '../../src/inspector/source.ts'
import { ADDED, ATTACKS } from './helpers/attacks.ts'
import { createFake } from './helpers/fake-source.ts'
import { serveInspector } from './helpers/serve-inspector.ts'
import { MODES, type Mode, untilLive, visit } from './helpers/visit.ts'

/** A delivery with an attack in every text. */
function attackedBy(attack: string, item: Item): Item {
  const body = new TextEncoder().encode(
    JSON.stringify({
      name: attack,
      [attack]: attack,
      folderName: attack,
      serviceName: attack,
      serviceType: attack,
      events: [{ eventType: attack, when: attack }],
      changesUrl: attack,
      statusUrl: attack,
      jobId: attack,
    }),
  )
  return {
    ...item,
    changeTypes: [attack],
    service: attack,
    webhook: attack,
    target: attack,
    outcome: { tone: 'bad', word: attack },
    code: attack,
    error: attack,
    facts: [[attack, attack]],
    request: {
      method: attack,
      url: attack,
      headers: [
        [attack, attack],
        ['content-encoding', attack],
      ],
      body,
      contentType: attack,
    },
    attemptLog: [
      {
        number: 1,
        time: new Date(Number.NaN),
        tone: 'bad',
        result: attack,
        note: attack,
        answer: { headers: [[attack, attack]], body: attack },
      },
    ],
    signature: { state: 'verified', name: attack, expectedEncoding: attack, encoding: attack, key: attack },
    explain: async () => ({ ok: false, cause: attack as 'ok', evidence: attack, fix: attack }),
  }
}

const TABS = [
  '',
  '/body',
  '/body?view=raw',
  '/body?view=hex',
  '/headers',
  '/events',
  '/signature',
  '/attempts',
  '/curl',
  '/echo',
]

describe.each(MODES)('$mode', ({ javaScriptEnabled }: Mode) => {
  it('markup in deliveries, notices and filters is shown as text', async () => {
    const fake = createFake({
      count: 3,
      extraActions: [
        {
          name: 'echo',
          label: ATTACKS[0]!,
          question: () => ATTACKS.join(' '),
          fields: ({ service }) => [
            { name: 'text', label: ATTACKS[1]!, value: service, hint: ATTACKS[2]! },
            { name: 'long', label: 'Long', kind: 'multiline', value: ATTACKS.join('\n') },
            {
              name: 'pick',
              label: 'Pick',
              kind: 'choice',
              choices: ATTACKS.map((attack) => [attack, attack]),
            },
          ],
          run: async () => ({ message: ATTACKS.join(' ') }),
        },
      ],
    })
    const { url } = await serveInspector(fake)
    const items = ATTACKS.map((attack) => fake.put(attackedBy(attack, fake.add())))
    const page = await visit(url, { javaScriptEnabled })
    if (javaScriptEnabled) {
      await untilLive(page)
      // Once more as live updates.
      for (const item of items) fake.put({ ...item, attempts: 7 })
      await page
        .locator('#rows')
        .getByText('×7')
        .nth(ATTACKS.length - 1)
        .waitFor()
    }
    expect(await page.locator('#rows').textContent()).toContain(ATTACKS[0])
    const last = items[3]!
    for (const tab of TABS) {
      await page.goto(`${url}/deliveries/${last.id}${tab}`)
      expect(await page.locator('#pane').textContent()).toContain('alert(4)')
      expect(await page.locator(ADDED).count()).toBe(0)
    }
    await page.getByRole('button', { name: ATTACKS[0]! }).click()
    await page.locator('.notice').waitFor()
    expect(await page.locator('.notice').textContent()).toContain(ATTACKS[0])
    for (const item of items) {
      await page.goto(`${url}/deliveries/${item.id}/events`)
      await page.goto(`${url}/diff?a=${item.id}&b=${last.id}`)
      expect(await page.locator(ADDED).count()).toBe(0)
    }
    for (const attack of ATTACKS.slice(0, 5)) {
      const value = encodeURIComponent(attack)
      await page.goto(
        `${url}/?text=${value}&service=${value}&webhook=${value}&type=${value}&outcome=${value}&notice=${value}`,
      )
      expect(await page.locator('#filters [name=text]').inputValue()).toBe(attack)
      expect(await page.locator('#filters [name=service]').inputValue()).toBe(attack)
      expect(await page.locator(ADDED).count()).toBe(0)
    }
  })
})

it('the Content-Security-Policy blocks an inline script, an inline style and other origins', async () => {
  const { url } = await serveInspector(createFake())
  const page = await visit(url, { allowed: /Content.Security.Policy|violates|request: http:\/\/198/i })
  await page.evaluate(async () => {
    const found = new Set<string>()
    Object.assign(globalThis, { found })
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) =>
      found.add(effectiveDirective),
    )
    const script = document.createElement('script')
    script.textContent = 'globalThis.isOwned = true'
    document.body.append(script)
    document.body.insertAdjacentHTML(
      'beforeend',
      '<img src="http://198.51.100.1/x.png"><p style="color: red" onclick="globalThis.isOwned = true">x</p><iframe src="http://198.51.100.1/"></iframe>',
    )
    document.body.lastElementChild?.previousElementSibling?.dispatchEvent(new MouseEvent('click'))
    await fetch('http://198.51.100.1/').catch(() => {})
  })
  const read = () =>
    page.evaluate(() => {
      const { found, isOwned } = globalThis as unknown as { found: Set<string>; isOwned?: boolean }
      return { found: [...found].sort(), isOwned }
    })
  await vi.waitFor(
    async () =>
      expect(await read()).toEqual({
        found: [
          'connect-src',
          'frame-src',
          'img-src',
          'script-src-attr',
          'script-src-elem',
          'style-src-attr',
        ],
        isOwned: undefined,
      }),
    { timeout: 60_000 },
  )
})
