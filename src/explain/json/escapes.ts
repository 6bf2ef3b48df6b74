/** Escape sequences that a writer produces, compared with JSON.stringify. */
interface Escapes {
  /** Characters that are written as \uXXXX. */
  units?: RegExp
  /** Which of those, and of the control characters, have upper-case hex digits. */
  upper?: RegExp
  slash?: '\\/'
  quote?: '\\u0022'
  /** Go before 1.22 */
  controls?: '\\u00xx'
  /** org.json */
  endTag?: '<\\/'
}

export type EscapesName =
  | 'none'
  | 'ascii'
  | 'asciiUpper'
  | 'python'
  | 'lines'
  | 'slashes'
  | 'slashesAscii'
  | 'slashesLines'
  | 'phpHex'
  | 'phpHexUnicode'
  | 'go'
  | 'goPlain'
  | 'html'
  | 'gson'
  | 'upperControls'
  | 'dotNet'
  | 'dotNetRelaxed'
  | 'newtonsoft'
  | 'newtonsoftHtml'
  | 'javaScriptSerializer'
  | 'orgJson'
  | 'jsonSimple'
  | 'delete'

/** One row for each set of escape sequences. */
export const ESCAPES: Readonly<Record<EscapesName, Escapes>> = {
  none: {},
  ascii: { units: /[\x80-\uffff]/ },
  asciiUpper: { units: /[\x80-\uffff]/, upper: /./ },
  python: { units: /[\x7f-\uffff]/ },
  lines: { units: /[\u2028\u2029]/ },
  slashes: { slash: '\\/' },
  slashesAscii: { units: /[\x80-\uffff]/, slash: '\\/' },
  slashesLines: { units: /[\u2028\u2029]/, slash: '\\/' },
  phpHex: { units: /[<>&'\x80-\uffff]/, upper: /[<>&']/, slash: '\\/', quote: '\\u0022' },
  phpHexUnicode: { units: /[<>&'\u2028\u2029]/, upper: /[<>&']/, slash: '\\/', quote: '\\u0022' },
  go: { units: /[<>&\u2028\u2029]/, controls: '\\u00xx' },
  goPlain: { units: /[\u2028\u2029]/, controls: '\\u00xx' },
  html: { units: /[<>&\u2028\u2029]/ },
  gson: { units: /[<>&='\u2028\u2029]/ },
  upperControls: { upper: /./ },
  dotNet: { units: /[<>&'+`\x7f-\uffff]/, upper: /./, quote: '\\u0022' },
  dotNetRelaxed: {
    units: /[\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\uf8ff\ufeff\ufff0-\uffff]/,
    upper: /./,
  },
  newtonsoft: { units: /[\x85\u2028\u2029]/ },
  newtonsoftHtml: { units: /[<>&'\x85\u2028\u2029]/, quote: '\\u0022' },
  javaScriptSerializer: { units: /[<>&'\x85\u2028\u2029]/ },
  orgJson: { units: /[\x80-\x9f\u2000-\u20ff]/, endTag: '<\\/' },
  jsonSimple: { units: /[\x7f-\x9f\u2000-\u20ff]/, upper: /./, slash: '\\/' },
  delete: { units: /[\x7f]/ },
}

/** Escape sequences, and the characters that some writer escapes. The quotes around a string are not among them. */
const UNITS = /\\u[0-9a-f]{4}|\\.|<\/|[^ !"#-%(-*,-.0-;?-[\]-_a-~]/g

/** Escapes JSON strings as a writer does. Returns the same array if this changes nothing. */
export function escapeStrings(strings: readonly string[], name: EscapesName): readonly string[] {
  const { units, upper, slash, quote, controls, endTag } = ESCAPES[name]
  const toCase = (hex: string, unit: string): string => (upper?.test(unit) ? hex.toUpperCase() : hex)

  const known = new Map<string, string>()
  if (slash) known.set('/', slash)
  if (quote) known.set('\\"', quote)
  if (controls) known.set('\\b', '\\u0008').set('\\f', '\\u000c')
  if (endTag) known.set('</', endTag)
  const escapeUnit = (unit: string): string => {
    if (unit === '</') return escapeOne('<') + escapeOne('/')
    if (unit.startsWith('\\u')) return `\\u${toCase(unit.slice(2), unit)}`
    if (unit.length > 1 || !units?.test(unit)) return unit
    return `\\u${toCase(unit.charCodeAt(0).toString(16).padStart(4, '0'), unit)}`
  }
  const escapeOne = (unit: string): string => {
    let text = known.get(unit)
    if (text === undefined) {
      text = escapeUnit(unit)
      known.set(unit, text)
    }
    return text
  }
  // Quick checks for texts that do not change, because replacing each unit takes much longer.
  const mayChange = (text: string): boolean =>
    units?.test(text) ||
    ((slash || endTag) && text.includes('/')) ||
    ((quote || controls || upper) && /\\["bfu]/.test(text)) ||
    false
  let isChanged = false
  const texts = strings.map((string) => {
    const text = mayChange(string) ? string.replace(UNITS, escapeOne) : string
    isChanged ||= text !== string
    return text
  })
  return isChanged ? texts : strings
}
