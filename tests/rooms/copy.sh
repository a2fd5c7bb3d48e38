# Sourced by the tests here: a copy of the tree in a folder of its own, which is left and removed at the end.
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
copy=$(mktemp -d)
trap 'cd / && rm -rf "$copy"' EXIT

fail() {
	echo "failed: $*" >&2
	exit 1
}

# copy_tree PATH...: the copy holds these, as they are now, and is the working folder.
copy_tree() {
	cd "$source_folder"
	cp -a "$@" "$copy"
	cd "$copy"
	git -c init.defaultBranch=main init --quiet
	echo /build/ >.gitignore
}
