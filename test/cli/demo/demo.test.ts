import { ServerResponse } from 'node:http'
import { afterEach, expect, it, vi } from 'vitest'
import { geohook, startGeohook } from '../../helpers/cli.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

it('geohook demo runs every step, numbers them from 1 each time, and exits with 0', async () => {
  for (let run = 0; run < 2; run++) {
    const { code, stdout, stderr } = await geohook(['demo'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^geohook: how a signed delivery reaches your handler/)
    const steps = stdout.match(/^\d(?=\. )/gm)?.map(Number)
    expect(steps).toEqual([1, 2, 3, 4, 5, 6, 7])
    for (const pattern of [
      /verified; its handler got FeaturesCreated on Parcels\n.*response 200/,
      /edit: success, the webhook now points at \S+parcels-v2/,
      /verified; its handler got FeaturesUpdated on Parcels\n.*parcels-v2, response 200/,
      /refused: signature_mismatch\. .*\n.*received 401/,
      /refused: signature_missing\. .*\n.*received 401/,
      /delete: success\n.*sent nothing\n.*received nothing/,
      /Every step succeeded\.\n$/,
    ])
      expect(stdout).toMatch(pattern)
  }
})

it('ends with the address of the inspector in a terminal, and only there', async () => {
  const { code, stdout } = await geohook(['demo'], { columns: 80 })
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /Every step succeeded\.\nThe inspector showed the deliveries at http:\/\/127\.0\.0\.1:\d+\/\nTo keep it running: npm start -- --open, or geohook demo --open/,
  )
})

it('demo --open keeps the inspector running until it is stopped', async () => {
  const demo = startGeohook(['demo', '--open'])
  const [, url = ''] = await demo.printed(/The inspector shows the deliveries at (\S+) \(Ctrl-C stops it\)/)
  const page = await (await fetch(url)).text()
  expect(page.match(/<li data-id/g)).toHaveLength(4)
  expect(page).toContain('401 refused')
  expect(await demo.stop()).toBe(0)
})

const { fetch: original } = globalThis

it.each<[string, () => void]>([
  [
    'the receiver accepts everything',
    () => {
      const { writeHead } = ServerResponse.prototype
      vi.spyOn(ServerResponse.prototype, 'writeHead').mockImplementation(function (
        this: ServerResponse,
        status: number,
        ...rest: unknown[]
      ) {
        return Reflect.apply(writeHead, this, [status === 401 ? 200 : status, ...rest])
      })
    },
  ],
  [
    'the edit fails',
    () =>
      vi.stubGlobal('fetch', (url: string, init: RequestInit) =>
        original(url.replace(/edit$/, 'nothing'), init),
      ),
  ],
  [
    'the webhook is not deleted',
    () =>
      vi.stubGlobal('fetch', async (url: string, init: RequestInit) =>
        url.endsWith('delete') ? Response.json({ status: 'success' }) : original(url, init),
      ),
  ],
])('the demo fails with exit code 1 when %s', async (_, patch) => {
  patch()
  const { code, stderr } = await geohook(['demo'])
  expect(code).toBe(1)
  expect(stderr).toContain('error: the demo failed: ')
})
