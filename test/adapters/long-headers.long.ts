import { describe, it } from 'vitest'
import { ENTRY_POINTS, HANDSHAKES, NAMES } from '../helpers/entry-points.ts'
import { expectLinear, repeatedPieces } from '../helpers/linear.ts'

const texts = repeatedPieces('', 'x', '\xa0x')

describe('takes time in proportion to the length of what a stranger sends, whatever it is', () => {
  for (const [door, run] of Object.entries(ENTRY_POINTS)) {
    it.each(NAMES)(`${door}: the header %s`, async (name) => {
      for (const text of texts) await expectLinear((value) => run(name, value), text)
    })
  }

  it.each(Object.entries(HANDSHAKES))('%s: the query of a handshake', async (_, run) => {
    for (const text of texts) {
      await expectLinear(run, text)
      await expectLinear((value) => run(`crc_token=${value}`), text)
    }
  })
})
