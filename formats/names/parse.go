package names

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// MaxBytes bounds a list, as it is given and as it is kept: some 50 million
	// names. Positions in it are 32 bits.
	MaxBytes = 1 << 30
	// hostMark begins the lines that stand for one host alone.
	hostMark = "host:"
	// faultsShown bounds how many bad lines one error names.
	faultsShown = 10
	// lineMost is far above the 253 bytes of a name.
	lineMost = 4096
)

// ErrTooLarge: a list is over MaxBytes.
var ErrTooLarge = errors.New("the file is larger than 1 GiB: cut it into several, or drop what does not matter")

// Parse reads a list as a person writes it and returns the form that New takes,
// and how many names it has. The error names the first bad lines by number; a
// list without a name is one.
func Parse(r io.Reader) (text []byte, count int, err error) {
	lines := bufio.NewScanner(bufio.NewReaderSize(r, 1<<20))
	lines.Buffer(make([]byte, 0, lineMost), lineMost)
	var faults []error
	var out bytes.Buffer
	number, bad := 0, 0
	for lines.Scan() {
		number++
		name, err := parseLine(lines.Bytes())
		if err != nil {
			if bad++; bad <= faultsShown {
				faults = append(faults, fmt.Errorf("line %d: %w", number, err))
			}
			continue
		}
		if name != "" {
			count++
		}
		if out.Len()+len(name) >= MaxBytes {
			return nil, 0, ErrTooLarge
		}
		out.WriteString(name)
		out.WriteByte('\n')
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		faults = append(faults, fmt.Errorf("line %d: it is longer than %d bytes: no name is", number+1,
			lineMost))
	case err != nil:
		return nil, 0, err
	}
	if bad > faultsShown {
		faults = append(faults, fmt.Errorf("and %d more bad lines", bad-faultsShown))
	}
	if len(faults) == 0 && count == 0 {
		return nil, 0, errors.New("it names no domain: write one a line")
	}
	return out.Bytes(), count, errors.Join(faults...)
}

// parseLine gives the kept form of a line; "" if it says nothing.
func parseLine(line []byte) (string, error) {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
	if len(line) == 0 || line[0] == '#' {
		return "", nil
	}
	if i := bytes.IndexByte(line, '#'); i > 0 && (line[i-1] == ' ' || line[i-1] == '\t') {
		line = bytes.TrimSpace(line[:i])
	}
	name, only := strings.CutPrefix(string(line), hostMark)
	if !only {
		name = strings.TrimPrefix(name, "domain:")
	}
	host, err := Host(name)
	switch {
	case strings.ContainsAny(name, " \t,;|"):
		err = fmt.Errorf("%.80q: one name a line", name)
	case err != nil:
		err = fmt.Errorf("%.80q is no domain: %w", name, err)
	}
	if err != nil || !only {
		return host, err
	}
	return hostMark + host, nil
}
