import type { Row } from '../table.ts'
import { BODY_ROWS } from './body.ts'
import { FORM_ROWS } from './form.ts'
import { KEY_ROWS } from './key.ts'
import { FORM_FIELD_ROWS, NOTATION_ROWS } from './notations.ts'
import { PLACEHOLDER_ROWS } from './placeholders.ts'
import { PLACE_ROWS } from './places.ts'
import { REWRITTEN_ROWS } from './rewritten.ts'
import { SIGNATURE_ROWS } from './signature.ts'
import { UNEXPLAINED_ROWS } from './unexplained.ts'
import { UNUSUAL_KEY_ROWS } from './unusual-keys.ts'

const ROWS: readonly Row[] = [
  ...SIGNATURE_ROWS,
  ...KEY_ROWS,
  ...BODY_ROWS,
  ...FORM_ROWS,
  ...UNEXPLAINED_ROWS,
  ...REWRITTEN_ROWS,
  ...PLACE_ROWS,
  ...PLACEHOLDER_ROWS,
  ...UNUSUAL_KEY_ROWS,
  ...NOTATION_ROWS,
  ...FORM_FIELD_ROWS,
]

/** Number of rows of a cause, together with the same second causes, that `npm test` runs. */
const FIRST = 1

const idOf = ({ cause, also }: Row): string => [cause, also].join()

/** The first rows of each cause, for `npm test`, and the others. */
export const FIRST_ROWS: readonly Row[] = ROWS.filter(
  (row, at) => ROWS.slice(0, at).filter((other) => idOf(other) === idOf(row)).length < FIRST,
)
export const OTHER_ROWS: readonly Row[] = ROWS.filter((row) => !FIRST_ROWS.includes(row))
