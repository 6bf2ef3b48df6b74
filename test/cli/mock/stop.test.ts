import { expect, it } from 'vitest'
import { parseEvents, withMock } from '../../helpers/cli.ts'
import { useJsonFiles } from '../../helpers/cli-seed.ts'
import { startHeldTarget } from '../../helpers/cli-servers.ts'

const jsonFile = useJsonFiles()
const pace = 0.01

it('geohook mock waits for a delivery in flight before it stops, and reports the wait except with --json', async () => {
  const target = await startHeldTarget()
  const webhook = { serviceName: 'P', serviceType: 'FeatureServer', name: 'n', hookUrl: target.url }
  const seed = jsonFile({ webhooks: [webhook] })
  const trigger = ['trigger', 'P.FeatureServer', 'x', '--any', '--no-wait']
  await withMock(
    ['--seed', seed, '--json'],
    async ({ mock: quiet, geohook: runOnQuiet }) => {
      await runOnQuiet(...trigger)
      await target.arrived(1)
      await withMock(
        ['--seed', seed],
        async ({ mock, geohook }) => {
          await geohook(...trigger)
          await target.arrived(2)
          // Stop the mock with --json first. When the second mock reports its wait, the first has waited at least as long.
          const stopped = [quiet.stop(), mock.stop()]
          await mock.printed(/waiting for deliveries in flight \(\d+ s\)\n/)
          target.release()
          expect(await Promise.all(stopped)).toEqual([0, 0])
          expect(mock.stderr).toMatch(/^(waiting for deliveries in flight \(\d+ s\)\n)+$/)
          expect(mock.stdout).toMatch(/attempt/)
        },
        { pace },
      )
      expect(quiet.stderr).toBe('')
      expect(parseEvents(quiet).at(-1)).toMatchObject({ event: 'attempt', status: 200 })
    },
    { pace },
  )
  await target.close()
})
