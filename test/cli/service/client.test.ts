import { describe, expect, it } from 'vitest'
import { geohook } from '../../helpers/cli.ts'
import { startRawServer, withTarget } from '../../helpers/cli-servers.ts'
import { unusedUrl } from '../../helpers/target.ts'

const PARCELS = 'Parcels.FeatureServer'

describe.concurrent('the service commands', () => {
  it.each([
    [['list']],
    [['edit', PARCELS, 'x', '--name', 'y']],
    [['delete', PARCELS, 'x']],
    [['trigger', PARCELS, 'FeaturesCreated']],
  ])('exit with 3 when the service is unreachable: %j', async (line) => {
    const result = await geohook([...line, '--url', await unusedUrl(), '--json'])
    expect(result).toMatchObject({ code: 3, stdout: '' })
    expect(JSON.parse(result.stderr)).toMatchObject({ error: { code: 'unreachable' } })
  })

  it('exit with 3 when the server switches to another protocol', async () => {
    const server = await startRawServer('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
    const result = await geohook(['list', '--url', server.url])
    await server.close()
    expect(result).toMatchObject({ code: 3, stdout: '' })
  })

  it('exit with 1 when the response is not JSON', () =>
    withTarget(async ({ url }) => {
      const result = await geohook(['list', '--url', url])
      expect(result).toMatchObject({ code: 1, stdout: '' })
      expect(result.stderr).toMatch(/returned no JSON.*\nCheck that this is the address/)
    }))

  it.each([[['list']], [['trigger', PARCELS, 'FeaturesCreated']]])(
    'exit with 1 when the JSON is not from a service: %j',
    (line) =>
      withTarget(
        async ({ url }) => {
          const result = await geohook([...line, '--url', url])
          expect(result.code).toBe(1)
          expect(result.stderr).toMatch(/Check that this is the (base )?address of the service/)
        },
        { body: '{"hello":1}' },
      ),
  )

  it.each([
    [
      'keys under other names in the response',
      JSON.stringify({
        webhooks: [
          { id: 'a', name: 'n', signatureKey: 'TOKEN-1x', SignatureKey: 'SECRET-2', secret: 'SECRET-3' },
        ],
      }),
      [['--json'], []],
    ],
    [
      'a token that the service quotes',
      JSON.stringify({ status: 'error', messages: ['bad token TOKEN-1'], code: 498 }),
      [['--json'], []],
    ],
  ])('redact %s', (_, body, modes) =>
    withTarget(
      async ({ url }) => {
        for (const mode of modes) {
          const { stdout, stderr } = await geohook(['list', '--url', url, ...mode], {
            env: { GEOHOOK_TOKEN: 'TOKEN-1' },
          })
          expect(stdout + stderr).not.toMatch(/TOKEN-1|SECRET/)
          expect(stdout + stderr).toContain('***')
        }
      },
      { body },
    ),
  )
})
