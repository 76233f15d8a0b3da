/**
 * `find`: its starting points, its expression, and the commands in it.
 *
 * Source: the man page of GNU findutils; each word of an expression is an option with one dash.
 */
import type { ShellWord } from "../shell-word.ts"
import { type Match, textOf } from "./match.ts"
import { row } from "./row.ts"

const TESTS =
  "-name,iname,path,ipath,type,maxdepth,mindepth,mtime,mmin,atime,ctime,amin,cmin,size,perm,user,group,regex,iregex,regextype,links,inum,lname,ilname,wholename,iwholename,gid,uid,fstype,used,xtype,newermt,newerat,newerct= -newer,samefile,anewer,cnewer="
const ACTIONS =
  "-print,print0,prune,not,and,or,a,o,empty,true,false,depth,d,xdev,mount,executable,readable,writable,ls,quit,daystart,nouser,nogroup,noleaf,ignore_readdir_race,warn,nowarn,help,version -printf= -P -L,H,follow~ -D=~ -O0,O1,O2,O3"

/** The row about `find`; its operands hold the starting points and the marks between tests. */
export const findRow = row(
  "read",
  `${TESTS} ${ACTIONS} -delete! -exec,execdir,ok,okdir! -fprint,fprint0,fls=> -fprintf=> -files0-from=<~`,
  { single: true, plain: {} },
)

/** The words from which the search starts: those in front of its expression. */
export function startsOf({ hits, operands, places }: Match): readonly ShellWord[] {
  const first = hits.find(({ name }) => !/^-(?:[HLP]|D.*|O.*)$/.test(name))?.at ?? Infinity
  return operands.filter((word, i) => places[i]! < first && !/^[(!]$/.test(textOf(word)))
}

/** The names that the search asks for, as far as they are no patterns. */
export function namesSought({ hits }: Match): string[] {
  return hits.flatMap(({ name, value }) => {
    return /^-i?name$/.test(name) && !/[*?[]/.test(textOf(value)) ? [textOf(value)] : []
  })
}
