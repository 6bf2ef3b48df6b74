/** What has so long, and is cut then. */
interface Cuttable {
  cut(): void
}

/** One timer for all that begin together: nearly all of them end before, and to set and clear one for each takes longer than to sign. */
export class Deadline {
  private readonly milliseconds: number
  private readonly members: Cuttable[] = []
  private open = 0
  private timer: NodeJS.Timeout | undefined

  constructor(seconds: number) {
    this.milliseconds = seconds * 1000
  }

  join(member: Cuttable): void {
    this.members.push(member)
    this.open += 1
    if (this.open === 1) this.timer = setTimeout(cutAll, this.milliseconds, this.members)
  }

  /** Called once for each member, when it has ended. */
  leave(): void {
    this.open -= 1
    if (this.open === 0) clearTimeout(this.timer)
  }
}

function cutAll(members: readonly Cuttable[]): void {
  for (const member of members) member.cut()
}
