import { describe, expect, it } from 'vitest'
import { geohook, withMock } from '../../helpers/cli.ts'
import { useJsonFiles } from '../../helpers/cli-seed.ts'
import { withTarget } from '../../helpers/cli-servers.ts'

const jsonFile = useJsonFiles()
const PARCELS = { serviceName: 'Parcels', serviceType: 'FeatureServer' }

describe.concurrent('geohook advance', () => {
  it('closes a window, and prints the time', () =>
    withTarget(async ({ url, requests }) => {
      const scheduleInfo = { recurrenceInfo: { interval: 1, frequency: 'hour' } }
      const seed = jsonFile({ webhooks: [{ ...PARCELS, name: 'edits', hookUrl: url, scheduleInfo }] })
      await withMock(['--seed', seed], async ({ geohook }) => {
        await geohook('trigger', 'Parcels.FeatureServer', 'FeaturesCreated', '--no-wait')
        const before = Date.now()
        const { code, stdout } = await geohook('advance', '61m')
        expect(code).toBe(0)
        expect(Date.parse(stdout.trim()) - before).toBeGreaterThanOrEqual(61 * 60_000)
        expect(requests).toHaveLength(1)
        const json = JSON.parse((await geohook('advance', '1d', '--json')).stdout)
        expect(json.now).toBeGreaterThan(Date.parse(stdout.trim()) + 86_000_000)
      })
    }))

  it.each(['1', '1w', '-1h', ''])('rejects the duration %j', async (text) => {
    expect((await geohook(['advance', '--', text])).code).toBe(2)
  })
})
