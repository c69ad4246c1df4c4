package broker

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"brokerd/log/vfs"
)

// What a data directory holds (docs/operations.md, "The data directory").
const (
	formatFile = "format"
	lockFile   = "lock"
	metaFile   = "meta.db"

	formatVersion = 1
	formatPrefix  = "brokerd data format "

	metaTimeout = 5 * time.Second
)

var (
	// ErrInUse refuses a data directory that another process has open.
	ErrInUse = errors.New("broker: data directory is in use")
	// ErrNewerFormat refuses a data directory that a newer brokerd has written.
	ErrNewerFormat = errors.New("broker: data directory has a newer format")
)

// dataDir is the open data directory: locked, of a known format, with its metadata.
type dataDir struct {
	path string
	lock io.Closer
	db   *bbolt.DB
}

// openDataDir makes the directory if it is absent and takes it for this process. Nothing in it is deleted, whatever is
// wrong with it. Errors: ErrInUse, ErrNewerFormat.
func openDataDir(fsys vfs.FS, dir string) (*dataDir, error) {
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	if err := fsys.SyncDir(path.Dir(dir)); err != nil {
		return nil, fmt.Errorf("sync parent of data directory: %w", err)
	}
	lock, err := fsys.Lock(path.Join(dir, lockFile))
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("%w: %w; stop that broker, or choose another directory with --data", ErrInUse, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
	}
	d := &dataDir{path: dir, lock: lock}
	if err := d.prepare(fsys); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

func (d *dataDir) prepare(fsys vfs.FS) error {
	if err := checkFormat(fsys, d.path); err != nil {
		return err
	}
	db, err := openMeta(path.Join(d.path, metaFile))
	if err != nil {
		return err
	}
	d.db = db
	if err := fsys.SyncDir(d.path); err != nil {
		return errors.Join(fmt.Errorf("sync data directory: %w", err), db.Close())
	}
	return nil
}

// close gives the directory back.
func (d *dataDir) close() error {
	err := d.db.Close()
	if err != nil {
		err = fmt.Errorf("close metadata: %w", err)
	}
	return errors.Join(err, d.lock.Close())
}

// checkFormat reads the format file, or writes it into a directory that has none.
func checkFormat(fsys vfs.FS, dir string) error {
	name := path.Join(dir, formatFile)
	text, err := readFileText(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		text = formatPrefix + strconv.Itoa(formatVersion)
		if err := writeFile(fsys, dir, formatFile, text+"\n"); err != nil {
			return fmt.Errorf("write data format: %w", err)
		}
	} else if err != nil {
		return fmt.Errorf("read data format: %w", err)
	}
	number, ok := strings.CutPrefix(text, formatPrefix)
	version, err := strconv.Atoi(number)
	switch {
	case !ok || err != nil || version < 1:
		return fmt.Errorf("%s says %.60q, which is no data format; is %s really a data directory of brokerd? Nothing was changed",
			name, text, dir)
	case version > formatVersion:
		return fmt.Errorf("%w: %s has format %d, this brokerd knows up to %d; nothing was changed. Run the newer brokerd "+
			"that wrote it, or choose another directory with --data", ErrNewerFormat, dir, version, formatVersion)
	}
	return nil
}

// openMeta opens the metadata file. bbolt locks it as well, hence the timeout.
func openMeta(name string) (*bbolt.DB, error) {
	db, err := bbolt.Open(name, 0o644, &bbolt.Options{Timeout: metaTimeout})
	if err != nil {
		return nil, fmt.Errorf("open metadata %s: %w; nothing was changed. If another program has it open, stop that one; "+
			"if the file is damaged, restore it from a backup: the topics' records lie beside it, untouched", name, err)
	}
	return db, nil
}

// readFileText returns the first line of a small file.
func readFileText(fsys vfs.FS, name string) (string, error) {
	f, err := fsys.OpenRead(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, 256)
	n, err := f.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	return strings.TrimSpace(line), nil
}

// writeFile replaces dir/name durably, all or nothing.
func writeFile(fsys vfs.FS, dir, name, text string) (err error) {
	tmp := path.Join(dir, name+".tmp")
	if err := fsys.RemoveAll(tmp); err != nil {
		return err
	}
	f, err := fsys.Create(tmp)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt([]byte(text), 0); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, path.Join(dir, name)); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}
