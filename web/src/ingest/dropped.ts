/** The files in what was dropped: folders are looked into. */

export interface Dropped {
  file: File;
  path: string;
}

export async function dropped(items: DataTransferItemList): Promise<Dropped[]> {
  // entries can be asked for only while the event lasts
  const given = [...items].map((item) => item.webkitGetAsEntry() ?? item.getAsFile());
  const found: Dropped[] = [];
  for (const each of given) {
    if (each instanceof File) found.push({ file: each, path: "" });
    else if (each) await walk(each, found);
  }
  return found;
}

async function walk(entry: FileSystemEntry, found: Dropped[]): Promise<void> {
  if (entry.name.startsWith(".")) return;
  if (entry.isFile) {
    const file = await new Promise<File>((done, failed) => (entry as FileSystemFileEntry).file(done, failed));
    found.push({ file, path: entry.fullPath.replace(/^\//, "") });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  while (true) {
    const some = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return;
    for (const each of some) await walk(each, found);
  }
}

export const chosen = (files: FileList | null): Dropped[] => [...(files ?? [])].map((file) => ({ file, path: file.webkitRelativePath }));
