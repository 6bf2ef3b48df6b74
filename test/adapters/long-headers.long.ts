import { describe, it } from 'vitest'
import { ENTRY_POINTS, HANDSHAKES, NAMES } from '../helpers/entry-points.ts'
import { expectLinear, repeatedPieces } from '../helpers/linear-time.ts'

const texts = repeatedPieces('', 'x', '\xa0x')

describe('takes linear time for any value of', () => {
  for (const [entryPoint, run] of Object.entries(ENTRY_POINTS)) {
    it.each(NAMES)(`the header %s, in ${entryPoint}`, async (name) => {
      for (const text of texts) await expectLinear((value) => run(name, value), text)
    })
  }

  it.each(Object.entries(HANDSHAKES))('the query of a handshake, in %s', async (_, run) => {
    for (const text of texts) {
      await expectLinear(run, text)
      await expectLinear((value) => run(`crc_token=${value}`), text)
    }
  })
})
