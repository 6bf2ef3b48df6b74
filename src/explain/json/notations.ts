import { type Choice, emptyChoices, type FloatChoice, floatChoices } from './choices.ts'
import { createDistinct, type Distinct, isSameList } from './distinct.ts'
import { type EscapesName, escapeStrings } from './escapes.ts'
import { fill, LAYOUTS, type LayoutName, layOut, layoutKey, type Template, type Values } from './layouts.ts'
import { type Decimal, type NumberStyle, toDecimal, writeNumber } from './numbers.ts'
import { isSameOrder, ORDERS, type OrderName, reorder } from './orders.ts'
import type { Node, Tree } from './parse.ts'

/** Everything that decides how JSON is written. */
export interface Notation {
  layout: LayoutName
  escapes: EscapesName
  numbers: NumberStyle
  order: OrderName
  /** Index into {@link Notations.floats}. */
  floats: number
  /** Index into {@link Notations.empties}. */
  empties: number
  lines: '\n' | '\r\n'
  last: '' | '\n' | '\r\n'
}

/** One JSON document, which can be written in many notations. */
export interface Notations {
  readonly orders: readonly OrderName[]
  readonly floats: readonly Choice<FloatChoice>[]
  readonly empties: readonly Choice<readonly boolean[]>[]
  /** Returns a number that is equal for two styles that write the numbers of this document alike. */
  numbersId(style: NumberStyle, floats: number): number
  escapesId(escapes: EscapesName): number
  layoutId(layout: LayoutName): number
  /** Characters that were written so far, in texts and in their parts. A value counts as five more. */
  readonly cost: number
  /** Returns undefined if the same text was written before, or if the text would be too long. */
  write(notation: Notation): string | undefined
}

/** Total characters of the cached templates, after which they are dropped. */
const MAX_CACHED = 1024 * 1024

/** Characters that can be written in the time that handling one value takes. */
const PER_VALUE = 5

/** In place of numbers that are longer than a text may be. Others would use up the memory. */
const TOO_LONG: string[] = []

/** @param limit maximum number of characters of a text */
export function createNotations(tree: Tree, limit: number): Notations {
  const decimals = tree.numbers.map(({ literal }) => toDecimal(literal))
  const floats = floatChoices(tree.numbers, decimals)
  const empties = emptyChoices(tree.empties)

  let cost = 0
  const pay = (characters: number, values: number): void => {
    cost += characters + PER_VALUE * values
  }
  const roots = createDistinct((name: OrderName) => reorder(tree.root, name), isSameOrder)
  const characters = tree.strings.reduce((sum, { length }) => sum + length, 0)
  const strings = createDistinct((name: EscapesName) => {
    pay(characters, tree.strings.length)
    return escapeStrings(tree.strings, name)
  }, isSameList)
  const received = tree.numbers.reduce((sum, { literal }) => sum + literal.length, 0)
  const numbers = createDistinct((key: `${NumberStyle}/${number}`) => {
    const [style, index] = key.split('/') as [NumberStyle, string]
    const choice = floats[Number(index)]?.value ?? 'literal'
    let length = 0
    const list: string[] = []
    for (let place = 0; place < decimals.length && length <= limit; place++) {
      const decimal = decimals[place] as Decimal
      list.push(
        choice === 'literal' ? decimal.literal : writeNumber(decimal, choice[place] as boolean, style),
      )
      length += list[place]!.length
    }
    pay(Math.max(0, length - received), decimals.length)
    return length > limit ? TOO_LONG : list
  }, isSameList)

  const layouts = createDistinct((name: LayoutName) => layoutKey(tree, name), Object.is)

  const written = new Set<number>()
  const templates = new Map<number, Template>()
  let cached = 0
  const tooLong = new Set<LayoutName>()
  const template = (id: number, layout: LayoutName, values: Values): Template | undefined => {
    const known = templates.get(id)
    if (known || tooLong.has(layout)) return known
    const made = layOut(values, layout, limit)
    pay(made?.length ?? limit, tree.size)
    if (!made) {
      tooLong.add(layout) // with other numbers or in another order, it would be about as long
      return undefined
    }
    cached += made.length
    if (cached > MAX_CACHED) {
      templates.clear()
      cached = made.length
    }
    templates.set(id, made)
    return made
  }

  return {
    orders: distinctOrders(roots),
    floats,
    empties,
    numbersId: (style, index) => numbers.get(`${style}/${index}`)[1],
    layoutId: (name) => layouts.get(name)[1],
    escapesId: (name) => strings.get(name)[1],
    get cost() {
      return cost
    },
    write(notation) {
      const { layout, last } = notation
      const [root, rootId] = roots.get(notation.order)
      const [literals, literalsId] = numbers.get(`${notation.numbers}/${notation.floats}`)
      const [escaped, escapedId] = strings.get(notation.escapes)
      if (literals === TOO_LONG) return undefined
      const values = { root, numbers: literals, empties: empties[notation.empties]?.value ?? [] }
      const lines = 'indent' in LAYOUTS[layout] ? notation.lines : '\n'

      // At most 2^3 orders, 2^12 lists of numbers, 2^5 lists of empties, 2^5 layouts and 2^5 lists of strings.
      const layoutId = ((rootId * 4096 + literalsId) * 32 + notation.empties) * 32 + layouts.get(layout)[1]
      const id = ((layoutId * 32 + escapedId) * 4 + lines.length) * 4 + last.length
      if (written.has(id)) return undefined
      written.add(id)

      const made = template(layoutId, layout, values)
      if (made === undefined) return undefined
      const json = fill(made, escaped)
      pay(json.length, 0)
      return (lines === '\n' ? json : json.replaceAll('\n', lines)) + last
    },
  }
}

/** Returns the orders that differ for this document, the received one first. */
function distinctOrders(roots: Distinct<OrderName, Node>): OrderName[] {
  const names = new Map<number, OrderName>()
  for (const name of Object.keys(ORDERS) as OrderName[]) {
    const [, id] = roots.get(name)
    if (!names.has(id)) names.set(id, name)
  }
  return [...names.values()]
}
