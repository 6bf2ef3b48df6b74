import { expect, it } from 'vitest'
import { geohook } from '../../helpers/cli.ts'

it('geohook demo, as it is published, tells the whole story and exits with 0', async () => {
  const { code, stdout, stderr } = await geohook(['demo'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^geohook: how a signed delivery reaches your handler/)
  expect(stdout.match(/^\d\. /gm)?.length).toBeGreaterThan(5)
  expect(stdout).toMatch(/Every step succeeded\.\n$/)
})
