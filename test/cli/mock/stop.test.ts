import { describe, expect, it } from 'vitest'
import { createFolder, withMock } from '../../helpers/cli.ts'
import { startTarget } from '../../helpers/target.ts'

const folder = createFolder()

describe.concurrent('geohook mock that is stopped while a delivery is on the wire', () => {
  it.each([
    ['says after a second what it waits for', [], /^waiting for deliveries in flight \(1 s\)\n$/],
    ['says nothing more with --json', ['--json'], /^$/],
  ])('%s', async (_, args, told) => {
    let arrived = (): void => {}
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const slow = await startTarget((res) => {
      arrived()
      setTimeout(() => res.end(), 2_000)
    })
    const webhook = { serviceName: 'P', serviceType: 'FeatureServer', name: 'n', hookUrl: slow.url }
    const seed = folder.file(`${args.length}.json`, JSON.stringify({ webhooks: [webhook] }))
    const mock = await withMock(['--seed', seed, ...args], async ({ mock, geohook }) => {
      expect((await geohook('trigger', 'P.FeatureServer', 'x', '--no-wait')).code).toBe(0)
      await arrival
      expect(await mock.stop('SIGINT')).toBe(0)
    })
    await slow.close()
    expect(mock.stderr).toMatch(told)
    expect(mock.stdout).toMatch(/attempt/)
  })
})
