import { describe, expect, it } from 'vitest'
import { createFolder, startGeohook, withMock } from '../../helpers/cli.ts'
import { startHeldTarget } from '../../helpers/cli-servers.ts'
import { KEY } from '../../helpers/deliver.ts'

const MANY = 2_000
const WEBHOOKS = Array.from({ length: MANY }, (_, number) => ({
  serviceName: 'Parcels',
  serviceType: 'FeatureServer',
  id: `w${number}`,
  name: `\u5730\u56f3 ${number}`,
  changeTypes: ['FeaturesCreated'],
  hookUrl: 'http://127.0.0.1:9/hook',
  signatureKey: KEY,
}))

const folder = createFolder()
const seed = folder.file('seed.json', JSON.stringify({ webhooks: WEBHOOKS }))

/** Returns the display column at which a text starts. Each ideograph is two columns wide, so two dots replace it. */
const columnOf = (line: string, text: string): number =>
  line.slice(0, line.indexOf(text)).replaceAll('\u5730', '..').replaceAll('\u56f3', '..').length

describe('with 2,000 webhooks', () => {
  it('geohook mock prints their number and the first ten, and list prints all of them', async () => {
    const mock = await withMock(['--seed', seed], async ({ mock, geohook }) => {
      await mock.printed(/\.\.\. and 1990 more/)
      const { code, stdout } = await geohook('list')
      expect(code).toBe(0)
      const [head = '', ...rows] = stdout.trimEnd().split('\n')
      expect(rows.length).toBe(MANY)
      for (const row of [rows[0], rows[10], rows[MANY - 1]])
        expect(columnOf(row ?? '', 'FeaturesCreated')).toBe(columnOf(head, 'change types'))
    })
    const [first, second, ...rows] = mock.stdout.trimEnd().split('\n')
    expect(first).toMatch(/^mock service on http:/)
    expect(second).toBe('1 service, 2000 webhooks')
    expect(rows.length).toBe(11)
    expect(rows[9]).toBe('  Parcels.FeatureServer  \u5730\u56f3 9 (w9)  http://127.0.0.1:9/hook')
  })

  it('geohook list reports progress until it prints the result', async () => {
    const target = await startHeldTarget(JSON.stringify({ webhooks: WEBHOOKS }))
    const list = startGeohook(['list', '--url', target.url], { pace: 0.01 })
    await target.arrived(1)
    await list.printed(/\(\d+ s\)\n/)
    target.release()
    expect(await list.exited).toBe(0)
    await target.close()
    expect(list.output).toMatch(/^asking http:\S+ \(\d+ s\)\n(asking .*\n)*service /)
    expect(list.stdout.trimEnd().split('\n').length).toBe(MANY + 1)
  })
})
