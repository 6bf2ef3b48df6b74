import { ESCAPES, type EscapesName } from './escapes.ts'
import { LAYOUTS, type LayoutName } from './layouts.ts'
import { createNotations, type Notation, type Notations } from './notations.ts'
import { NUMBERS, type NumberStyle } from './numbers.ts'
import { ORDERS } from './orders.ts'
import { parseJson } from './parse.ts'
import { WRITERS, type Writer } from './writers.ts'

/** Maximum cost of all texts, for a body of up to 64 KiB: about 25 texts of that size. */
const MAX_COST_OF_TEXTS = 4_000_000

/** Maximum number of texts. Only small bodies reach this limit. */
export const MAX_TEXTS = 1200

/** Notations that may be tested. Most of them are texts that were written before. */
const MAX_TESTED = 20_000

/**
 * Yields the JSON as the known writers of JSON write it. Likely texts come first: a text is as unlikely as its changes,
 * such as sorted names, cost together, plus the number of the group of its writer. All combinations of the columns of
 * the table follow.
 *
 * @param maxTexts maximum number of texts
 */
export function* rewriteJson(
  text: string,
  maxTexts: number = MAX_TEXTS,
): Generator<readonly [json: string, description: string]> {
  const tree = parseJson(text)
  if (!tree) return
  const notations = createNotations(tree, 4 * text.length + 0x10000)
  const maxCost = Math.max(MAX_COST_OF_TEXTS, 70 * text.length)
  let texts = 0
  let tested = 0
  for (const [writer, change] of candidates(notations)) {
    if (++tested > MAX_TESTED || texts === maxTexts || notations.cost > maxCost) return
    const [name, layout, escapes, numbers, order = 'received'] = writer
    const own = change.notation.order === 'received' ? { order } : {}
    const json = notations.write({ layout, escapes, numbers, ...change.notation, ...own })
    if (json === undefined) continue
    texts++
    // A parser would have dropped or reordered such members, so no writer had them in the received order.
    const isImpossible = tree.hasUnstableNames && change.notation.order === 'received' && order === 'received'
    yield [json, name && !isImpossible ? describe(name, change) : 'the same JSON in another notation']
  }
}

/** What a writer does in addition to its row of the table. */
interface Change {
  notation: Pick<Notation, 'order' | 'floats' | 'empties' | 'lines' | 'last'>
  cost: number
  descriptions: readonly string[]
}

const describe = (name: string, { descriptions }: Change): string =>
  [`the same JSON as ${name} writes it`, ...descriptions].join(', ')

/** Rows of the table that are tested together. Each further group is as unlikely as one more unlikely change. */
const GROUP = 13

const MAX_COST = 9

/** Maximum cost of a change that is combined with all combinations of the columns. */
const MAX_PRODUCT_COST = 3

function* candidates(notations: Notations): Generator<[Writer, Change]> {
  const changes = listChanges(notations)
  const groups = groupWriters(notations)
  for (let cost = 0; cost <= MAX_COST; cost++) {
    for (const change of changes) {
      if (change.cost > cost) break
      for (const writer of groups(change.notation.floats)[cost - change.cost] ?? []) yield [writer, change]
    }
  }
  for (const change of changes) {
    if (change.cost <= MAX_PRODUCT_COST)
      for (const writer of product(notations, change)) yield [writer, change]
  }
}

/** Yields all combinations of the table's columns, without those that write this document alike. */
function* product(notations: Notations, { notation }: Change): Generator<Writer> {
  const { layoutId, escapesId, numbersId } = notations
  const styles = distinct(Object.keys(NUMBERS) as NumberStyle[], (style) => numbersId(style, notation.floats))
  const escapes = distinct(Object.keys(ESCAPES) as EscapesName[], escapesId)
  for (const layout of distinct(Object.keys(LAYOUTS) as LayoutName[], layoutId)) {
    for (const name of escapes) for (const style of styles) yield ['', layout, name, style]
  }
}

/** Returns the first item for each key. */
function distinct<T>(items: readonly T[], keyOf: (item: T) => number): T[] {
  const byKey = new Map<number, T>()
  for (const item of items) if (!byKey.has(keyOf(item))) byKey.set(keyOf(item), item)
  return [...byKey.values()]
}

/** Returns the writers in groups, without those that write this document like another writer or float choice. */
function groupWriters({
  layoutId,
  numbersId,
  escapesId,
}: Notations): (floats: number) => readonly Writer[][] {
  const known: (readonly Writer[][])[] = []
  const numbersOf = WRITERS.map(() => new Set<number>())
  return (floats) => {
    // Float choices are asked in any order. Computing the earlier ones first makes the result the same each time.
    for (let choice = known.length; choice <= floats; choice++) {
      const groups: Writer[][] = []
      const seen = new Set<string>()
      for (const [index, writer] of WRITERS.entries()) {
        const [, layout, escapes, style, order] = writer
        const numbers = numbersId(style, choice)
        const key = `${layoutId(layout)}/${escapesId(escapes)}/${numbers}/${order}`
        const ownNumbers = numbersOf[index] as Set<number>
        if (ownNumbers.has(numbers)) continue
        ownNumbers.add(numbers)
        if (seen.has(key)) continue
        seen.add(key)
        const group = Math.floor(index / GROUP)
        groups[group] ??= []
        groups[group].push(writer)
      }
      known.push(groups)
    }
    return known[floats] as readonly Writer[][]
  }
}

const ENDS = [
  ['\n', '', 0, ''],
  ['\n', '\n', 1, 'with a line feed at its end'],
  ['\r\n', '', 2, 'with CR LF'],
  ['\r\n', '\r\n', 3, 'with CR LF, also at its end'],
] as const

/** Combines the changes, and sorts them by their cost. */
function listChanges({ orders, floats, empties }: Notations): Change[] {
  const changes: Change[] = []
  for (const order of orders) {
    const [, orderCost, orderDescription] = ORDERS[order]
    for (const [floatIndex, float] of floats.entries()) {
      for (const [emptyIndex, empty] of empties.entries()) {
        for (const [lines, last, endCost, endDescription] of ENDS) {
          const cost = orderCost + float.cost + empty.cost + endCost
          if (cost > MAX_COST) continue
          changes.push({
            notation: { order, floats: floatIndex, empties: emptyIndex, lines, last },
            cost,
            descriptions: [orderDescription, float.description, empty.description, endDescription].filter(
              Boolean,
            ),
          })
        }
      }
    }
  }
  return changes.sort((a, b) => a.cost - b.cost)
}
