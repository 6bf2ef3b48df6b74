import { expect, it } from 'vitest'
import { useGeohook } from '../../helpers/cli-host.ts'
import { KEY } from '../../helpers/deliver.ts'
import { serve } from '../../helpers/served.ts'

const { geohook } = useGeohook()

it('prints the result before it reports a file that cannot be written', async () => {
  const { url } = await serve((req, res) => void req.resume().on('end', () => res.end()))
  const args = ['check', url, '--only', 'signature-missing', '--report', '/nowhere/check.xml']
  const { code, stdout } = await geohook(args, { env: { SIGNATURE_KEY: KEY } })
  expect(code).toBe(2)
  expect(stdout).toContain('signature-missing')
})
