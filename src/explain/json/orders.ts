import { utf8 } from '../../shared/bytes.ts'
import type { Member, Node } from './parse.ts'

/** Returns the members of an object in the order of a writer. */
type Order = (members: readonly Member[]) => readonly Member[]

const byUnits = (a: Member, b: Member): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)

/** Compares code points, which have the same order as their UTF-8 bytes. */
function byBytes(a: Member, b: Member): number {
  const isAstral = /[\ud800-\udfff]/
  if (!isAstral.test(a.name) && !isAstral.test(b.name)) return byUnits(a, b)
  const [left, right] = [[...a.name], [...b.name]]
  for (let i = 0; i < left.length && i < right.length; i++) {
    const difference = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/** Keeps the last of several members with the same name, at the place of the first one. */
const unique: Order = (members) => {
  const last = new Map(members.map((member) => [member.name, member]))
  return last.size === members.length ? members : [...last.values()]
}

const sorted =
  (compare: (a: Member, b: Member) => number): Order =>
  (members) =>
    [...members].sort(compare)

/** Orders the members of a JavaScript object: integers below 2^32 - 1 come first, in ascending order. */
const javaScript: Order = (members) => {
  const isIndex = ({ name }: Member): boolean => /^(0|[1-9]\d{0,9})$/.test(name) && Number(name) < 2 ** 32 - 1
  const indexes = members.filter(isIndex).sort((a, b) => Number(a.name) - Number(b.name))
  return unique(indexes.length ? [...indexes, ...members.filter((member) => !isIndex(member))] : members)
}

/** Orders the members of a jsonb value of PostgreSQL: short names come first. MySQL does the same. */
const jsonb: Order = (members) => {
  const lengths = new Map(members.map(({ name }) => [name, utf8(name).length]))
  const length = ({ name }: Member): number => lengths.get(name) ?? 0
  return [...unique(members)].sort((a, b) => length(a) - length(b) || byBytes(a, b))
}

/** Orders the members of a HashMap of Java: by the bucket that contains them. */
const hashMap: Order = (members) => {
  const distinct = unique(members)
  let buckets = 16
  while (distinct.length > 0.75 * buckets) buckets *= 2
  const places = new Map(distinct.map(({ name }) => [name, spread(name) & (buckets - 1)]))
  return [...distinct].sort((a, b) => (places.get(a.name) ?? 0) - (places.get(b.name) ?? 0))
}

/** Computes String.hashCode and the function with which HashMap mixes its bits. */
function spread(name: string): number {
  let hash = 0
  for (let i = 0; i < name.length; i++) hash = (Math.imul(31, hash) + name.charCodeAt(i)) | 0
  return hash ^ (hash >>> 16)
}

/** Member names in documented payloads (docs/senders.md), in the order in which services write them. */
const PAYLOADS: readonly string[][] = [
  'serviceType,changesUrl,name,id,folderName,serviceName,events',
  'serviceType,jobId,statusURL,name,taskName,folderName,serviceName,events',
  'name,layerId,orgId,serviceName,lastUpdatedTime,changesUrl,events',
  'name,layerId,orgId,serviceName,lastUpdatedTime,changesUrl,changeType',
  'info,events',
  'webhookName,webhookId,portalURL,when',
  'username,userId,when,operation,source,id,properties',
  'eventType,when',
].map((names) => names.split(','))

const documented: Order = (members) => {
  const names = PAYLOADS.find((payload) => members.every(({ name }) => payload.includes(name)))
  return names ? [...members].sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name)) : members
}

export type OrderName =
  | 'received'
  | 'sorted'
  | 'sortedUnits'
  | 'documented'
  | 'jsonb'
  | 'hashMap'
  | 'javaScript'

type OrderRow = readonly [order: Order, cost: number, description: string]

/** Orders of the members: the function, how unlikely it is, and how it completes "the same JSON as X writes it". */
export const ORDERS: Readonly<Record<OrderName, OrderRow>> = {
  received: [(members) => members, 0, ''],
  sorted: [sorted(byBytes), 2, 'with sorted member names'],
  sortedUnits: [sorted(byUnits), 2, 'with member names sorted by their UTF-16 units'],
  documented: [documented, 3, 'with the members in the documented order'],
  jsonb: [jsonb, 3, 'with its members in the order of jsonb'],
  hashMap: [hashMap, 3, "with its members in the order of Java's HashMap"],
  javaScript: [javaScript, 3, 'with its members in the order of JavaScript'],
}

/** Reorders the members at every level. Returns the same node if this changes nothing. */
export function reorder(node: Node, name: OrderName): Node {
  const [order] = ORDERS[name]
  const visit = (node: Node): Node => {
    if (typeof node === 'string') return node
    if (node.kind === 'array') {
      const items = node.items.map(visit)
      return isSame(items, node.items) ? node : { kind: 'array', items }
    }
    if (node.kind !== 'object') return node
    const members = order(node.members).map((member) => {
      const value = visit(member.value)
      return value === member.value ? member : { ...member, value }
    })
    return isSame(members, node.members) ? node : { kind: 'object', members }
  }
  return visit(node)
}

/** Compares two orders of the same document. */
export function isSameOrder(left: Node, right: Node): boolean {
  if (left === right) return true
  if (typeof left === 'string' || typeof right === 'string') return false
  if (left.kind === 'array' && right.kind === 'array') {
    return left.items.every((item, index) => isSameOrder(item, right.items[index] as Node))
  }
  if (left.kind !== 'object' || right.kind !== 'object' || left.members.length !== right.members.length)
    return false
  return left.members.every(({ literal, value }, index) => {
    const other = right.members[index] as Member
    return literal === other.literal && isSameOrder(value, other.value)
  })
}

const isSame = <T>(left: readonly T[], right: readonly T[]): boolean =>
  left.length === right.length && left.every((item, index) => item === right[index])
